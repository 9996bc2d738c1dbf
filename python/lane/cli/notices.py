"""What is said on stderr beside results: once each, and nothing fails for it."""

from __future__ import annotations

from collections.abc import Iterable

import click

from lane.errors import one_line


def warn(texts: Iterable[str]) -> None:
    """Says each on a line of its own."""
    for text in texts:
        click.echo(f"lane: warning: {one_line(text)}", err=True)
