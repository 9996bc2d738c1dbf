"""`lane fit`: whether a checkpoint fits a device, before anything is loaded. Exits as for CapacityError if it does not,
the report being printed all the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import click

from lane.cli.options import context_option, json_option, model_argument, numerics_option
from lane.cli.text import bytes_text, table_text
from lane.errors import CapacityError
from lane.launch.record import Numerics
from lane.plan.chips import CHIPS
from lane.report.fit import CPU, DEFAULT_FORMS, UNNAMED, Choice, FitReport, device_named, fit

SHOWN_MATRICES = 6  # of those that move, by name
_POWERS = "KMGT"
_CHOICE_HEAD = ["", "device", "host", "moved", "decode", "prefill"]


def size_of(text: str) -> int:
    """Bytes: a number, then a power of 1024 (K, M, G, T; KiB … mean the same) or of 1000 (kB, MB, GB, TB) or none."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:([kKMGT])(iB|B)?|B)?", text.strip())
    if found is None:
        raise click.BadParameter(f"{text!r}, allowed a number of bytes such as 8000000000, 7.5G or 8GB")
    number, power, unit = found.groups()
    base = 1000 if unit == "B" else 1024
    return int(Fraction(number) * base ** (_POWERS.index(power.upper()) + 1 if power else 0))


def forms_of(text: str) -> tuple[int, ...]:
    """Row counts of forms, between commas."""
    if not re.fullmatch(r"\d+(,\d+)*", text):
        raise click.BadParameter(f"{text!r}, allowed row counts between commas, such as 1,32,512")
    return tuple(map(int, text.split(",")))


@click.command("fit")
@model_argument
@context_option
@click.option(
    "--forms",
    type=forms_of,
    metavar="N,…",
    default=",".join(map(str, DEFAULT_FORMS)),
    show_default=True,
    help="Rows of the steps that will run; the decode step, 1, always does.",
)
@click.option(
    "--chip",
    type=click.Choice([CPU.name, *CHIPS]),
    help="The device.  [default: cpu, or one that nothing but --device-bytes is known of]",
)
@click.option(
    "--device-bytes",
    "budget_bytes",
    type=size_of,
    metavar="SIZE",
    help="Its memory for lane to use, e.g. 7.5G (K, M, G: powers of 1024).  [default: the chip's, less what the "
    "driver and captured graphs take; the CPU's: what a process here may use]",
)
@numerics_option
@json_option
def command(
    model: Path,
    context: int | None,
    forms: tuple[int, ...],
    chip: str | None,
    budget_bytes: int | None,
    numerics: str,
    as_json: bool,
) -> None:
    """Say whether MODEL fits a device, what would move to host memory, and how fast that would be."""
    unnamed = CPU if budget_bytes is None else UNNAMED
    device = unnamed if chip is None else device_named(chip)
    report = fit(
        model, context=context, forms=forms, numerics=Numerics(numerics), device=device, budget_bytes=budget_bytes
    )
    click.echo(json.dumps(report.as_json(), indent=2) if as_json else "\n".join(_lines(report)))
    if report.refusal is not None:
        raise CapacityError(report.refusal)


def _lines(report: FitReport) -> Iterator[str]:
    forms = ", ".join(map(str, report.forms))
    yield f"on {report.device}: {report.context} positions, {report.numerics}, steps of {forms} rows"
    yield "memory"
    yield table_text(list(_parts(report)), numbers=frozenset({1, 2}))
    yield "choices"
    rows = [_CHOICE_HEAD, *map(_choice, report.choices)]
    yield table_text(rows, numbers=frozenset(range(1, len(_CHOICE_HEAD))))
    moved = report.choices[-1].moved
    if moved:
        more = f" and {len(moved) - SHOWN_MATRICES} more" if len(moved) > SHOWN_MATRICES else ""
        yield f"moves {', '.join(moved[:SHOWN_MATRICES])}{more}"
    if report.longest_context == 0:
        yield "no context fits with nothing moved"
    elif report.longest_context is not None:
        yield f"longest context with nothing moved {report.longest_context} of the model's {report.most_context}"
    if report.warning is not None:
        yield f"warning: {report.warning}"
    yield "fits" if report.fits else "does not fit"


def _parts(report: FitReport) -> Iterator[list[str]]:
    for format, size_bytes in report.matrix_bytes.items():
        where = " in the file" if report.in_place else ""
        yield _part(f"matrices {format}{where}", size_bytes)
    if report.in_place:
        yield _part("the whole file", report.mapped_bytes)
    yield _part("caches and state", report.cache_bytes)
    yield _part("constants", report.constant_bytes)
    yield _part("io", report.io_bytes)
    yield _part("arena", report.arena_bytes)
    yield _part("all that is allocated" if report.in_place else "all", report.choices[0].device_bytes)
    if report.budget_bytes is not None:
        yield _part("budget", report.budget_bytes)
    if not report.in_place:
        yield _part("graphs' spare beside it", report.spare_bytes)


def _part(name: str, size_bytes: int) -> list[str]:
    return [name, f"{size_bytes:,} B", bytes_text(size_bytes) if size_bytes >= 1000 else ""]


def _choice(choice: Choice) -> list[str]:
    sizes = [bytes_text(choice.device_bytes), bytes_text(choice.host_bytes)]
    return [choice.name, *sizes, str(len(choice.moved)), _rate(choice.decode_rate), _rate(choice.prefill_rate)]


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"~{rate:.4g} tok/s"
