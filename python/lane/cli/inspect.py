"""`lane inspect`: what a checkpoint holds and whether it runs. Exits with 0 for every file that opens as GGUF."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import click

from lane.cli.options import json_option, model_argument
from lane.cli.text import bytes_text, count_text, table_text
from lane.errors import one_line
from lane.report.inspect import Inspection, TokenizerFacts, inspect

MAX_TEXT = 100  # characters of a metadata string that are shown


@click.command("inspect")
@model_argument
@json_option
def command(model: Path, as_json: bool) -> None:
    """Show what MODEL holds and whether it runs."""
    found = inspect(model)
    if as_json:
        path = os.fsencode(model).decode("utf-8", "backslashreplace")  # a path may be no text, JSON's strings are
        click.echo(json.dumps({**found.as_json(), "path": path}, indent=2, allow_nan=False))
        return
    click.echo("\n".join(_lines(found)))


def _lines(found: Inspection) -> Iterator[str]:
    yield table_text(list(_facts(found)), indent="")
    yield "formats"
    yield table_text(list(_formats(found)), numbers=frozenset({1, 2, 3}))
    yield "metadata"
    yield table_text([[_printable(key), _printable(value)] for key, value in found.metadata.items()])
    if found.taken:
        yield "taken where the file says nothing"
        yield table_text([[_printable(key), _printable(value)] for key, value in found.taken.items()])
    if found.warnings:
        yield "warnings"
        yield table_text([[one_line(warning)] for warning in found.warnings])
    yield "runs"
    yield table_text([[v.part, "yes" if v.runs else f"refused: {one_line(v.reason)}"] for v in found.verdicts])


def _facts(found: Inspection) -> Iterator[list[str]]:
    files = "" if found.files == 1 else f" in {found.files} files"
    yield ["file", f"{one_line(found.path)} ({bytes_text(found.bytes)}{files}, GGUF version {found.version})"]
    yield ["name", _printable(found.name)]
    yield ["architecture", _printable(found.architecture)]
    yield ["parameters", f"{count_text(found.parameters)} in {found.tensors} tensors"]
    yield ["shape", ", ".join(f"{name} {_printable(value)}" for name, value in found.shape.items()) or "unknown"]
    yield ["tokenizer", _tokenizer(found.tokenizer)]
    yield ["chat template", "yes" if found.has_template else "no"]


def _tokenizer(facts: TokenizerFacts | None) -> str:
    if facts is None:
        return "not read"
    kind = f"{facts.kind} ({facts.pre})" if facts.pre else facts.kind
    stops = " ".join(map(str, facts.stops)) or "none"
    return f"{kind}, {facts.tokens} tokens, BOS {facts.bos}, EOS {facts.eos}, generation ends at {stops}"


def _formats(found: Inspection) -> Iterator[list[str]]:
    total = sum(use.bytes for use in found.formats)
    for use in found.formats:
        share = f"{100 * use.bytes / total:.1f} %" if total else "-"
        refused = f"refused: {one_line(use.refused)}" if use.refused else ""
        yield [use.format, f"{use.tensors} tensors", bytes_text(use.bytes), share, refused]


def _printable(value: object) -> str:
    """A value of the file, cut where it is long."""
    return one_line(str(value), MAX_TEXT)
