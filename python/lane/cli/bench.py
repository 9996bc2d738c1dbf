"""`lane bench`: prefill and decode rates, in rows as llama-bench prints them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from lane.api import Model, load
from lane.cli.options import device_options, model_argument, numerics_option
from lane.cli.progress import progress
from lane.cli.text import bytes_text, count_text
from lane.errors import UsageError, one_line
from lane.report.bench import BenchRow, bench

MAX_NAME = 60  # characters of the model's name in a table


@dataclass(frozen=True, slots=True)
class Setting:
    """What was measured."""

    model: str
    bytes: int
    parameters: int
    device: str
    threads: int
    numerics: str


@click.command("bench")
@model_argument
@click.option(
    "-p",
    "prompt_tokens",
    type=click.IntRange(min=0),
    default=512,
    show_default=True,
    help="Tokens to prefill; 0: none.",
)
@click.option(
    "-n",
    "decoded_tokens",
    type=click.IntRange(min=0),
    default=128,
    show_default=True,
    help="Tokens to decode; 0: none.",
)
@click.option(
    "-r",
    "repetitions",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Runs of each, after one to warm up.",
)
@numerics_option
@device_options
@click.option(
    "-o",
    "form",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="What to print: rates in tokens a second.",
)
def command(
    model: Path,
    prompt_tokens: int,
    decoded_tokens: int,
    repetitions: int,
    numerics: str,
    device: str,
    threads: int | None,
    form: str,
) -> None:
    """Measure MODEL's prefill and decode rates, each from an empty context."""
    if prompt_tokens + decoded_tokens == 0:
        raise UsageError("bench: -p 0 -n 0, allowed at most one of them 0")
    with progress("loading"):
        context = max(prompt_tokens, decoded_tokens)
        loaded = load(model, device=device, numerics=numerics, ctx=context, threads=threads)
    runs = (repetitions + 1) * ((prompt_tokens > 0) + (decoded_tokens > 0))
    with progress("measuring") as report:
        done = iter(range(1, runs + 1))
        rows = bench(loaded.session(), prompt_tokens, decoded_tokens, repetitions, lambda: report(next(done), runs))
    click.echo(_FORMS[form](_setting(loaded, device), rows))


def _setting(model: Model, device: str) -> Setting:
    return Setting(
        model=model.name,
        bytes=model.memory()["checkpoint"],
        parameters=model.parameters,
        device=device,
        threads=model.engine.threads,
        numerics=model.engine.options.numerics.value,
    )


def _table(setting: Setting, rows: Sequence[BenchRow]) -> str:
    cells = [["model", "size", "params", "device", "numerics", "threads", "test", "tok/s"]]
    of_all = [
        one_line(setting.model, MAX_NAME).replace("|", "\\|"),
        bytes_text(setting.bytes),
        count_text(setting.parameters),
    ]
    of_all += [setting.device, setting.numerics, str(setting.threads)]
    cells += [[*of_all, row.test, f"{row.mean:.2f} ± {row.deviation:.2f}"] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in cells]
    return "\n".join([lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]])


def _csv(setting: Setting, rows: Sequence[BenchRow]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    fields = list(Setting.__slots__)
    writer.writerow([*fields, "test", "tokens", "mean", "deviation", "rates"])
    for row in rows:
        rates = " ".join(f"{rate:.3f}" for rate in row.rates)
        cells = [one_line(str(getattr(setting, name))) for name in fields]
        writer.writerow([*cells, row.test, row.tokens, f"{row.mean:.3f}", f"{row.deviation:.3f}", rates])
    return out.getvalue().rstrip("\n")


def _json(setting: Setting, rows: Sequence[BenchRow]) -> str:
    of_all = {name: getattr(setting, name) for name in Setting.__slots__}
    return json.dumps([{**of_all, **row.as_json()} for row in rows], indent=2)


_FORMS = {"table": _table, "csv": _csv, "json": _json}
