"""Conversations by the model's chat template: a turn from a text, or turn after turn from the lines of stdin."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from lane.api import Model
from lane.cli.progress import progress
from lane.cli.text import decoded
from lane.cli.writer import Writer
from lane.errors import CapacityError, UsageError

Message = dict[str, object]

PROMPT = "> "


def converse(model: Model, count: int | None, most: int, options: dict[str, Any]) -> None:
    """Answers line after line until stdin ends. An empty line is no turn.

    A turn that is refused (the context is full, say) is left out where someone can type another, and else an error.
    """
    messages: list[Message] = []
    while (line := _read_line()) is not None:
        if not line.strip():
            continue
        try:
            turn: Message = {"role": "user", "content": decoded(line, "the turn")}
            said = reply(model, [*messages, turn], count, most, options)
        except (UsageError, CapacityError) as error:
            if not sys.stdin.isatty():
                raise
            click.echo(f"lane: error: {error}; this turn is left out", err=True)
            continue
        messages += [turn, {"role": "assistant", "content": said}]


def reply(model: Model, messages: Sequence[Message], count: int | None, most: int, options: dict[str, Any]) -> str:
    """Streams the assistant's next message and gives it: at most `count` tokens (None: `most`, if there is room)."""
    ids = model.chat_tokens(messages)
    said = []
    with progress("prefill") as report, Writer() as writer:
        for piece in model.generate(ids, count or fitting(most, model, ids), progress=report, **options):
            writer.write(piece.text)
            said.append(piece.text)
    return "".join(said)


def fitting(most: int, model: Model, ids: Sequence[int]) -> int:
    """`most` tokens, or as many as the context has room for; 1 where it has none, which `generate` then refuses."""
    return max(1, min(most, model.room(ids)))


def _read_line() -> bytes | None:
    """The next line of stdin, asked for where someone types it; None at its end."""
    asks = sys.stdin.isatty()
    if asks:
        click.echo(PROMPT, nl=False, err=True)
    line = sys.stdin.buffer.readline()
    if not line and asks:
        click.echo(err=True)
    return line.removesuffix(b"\n").removesuffix(b"\r") if line else None
