"""`lane plan`: what a step is compiled to, in numbers, as text that goldens compare, launch by launch in time, or as a
file that hosts run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from lane.cli.options import context_option, device_options, json_option, model_argument, numerics_option
from lane.cli.text import bytes_text, count_text, table_text
from lane.devices.image import write_image
from lane.devices.lowering import lower_plan
from lane.devices.registry import DEFAULT, DEVICES, DeviceOptions
from lane.engine import Engine
from lane.errors import UnsupportedError, UsageError
from lane.graph.graph import Head
from lane.launch.record import Numerics
from lane.models.step import CHUNK_ROWS, MAX_CHUNK_ROWS
from lane.pipeline import Options, compile_plan, open_model
from lane.plan.plan import FormKey
from lane.report.dump import DUMPS, dump
from lane.report.plan import PlanReport, report_plan
from lane.report.profile import LaunchTime, by_kind, profile
from lane.session import Session


@click.command("plan")
@model_argument
@click.option(
    "--rows",
    type=click.IntRange(1, MAX_CHUNK_ROWS),
    default=1,
    show_default=True,
    help="Rows of the step; 1 is the decode step.",
)
@click.option(
    "--head",
    type=click.Choice([h.value for h in Head]),
    default=Head.LAST.value,
    show_default=True,
    help="Which rows get logits.",
)
@context_option
@numerics_option
@click.option(
    "--dump",
    "dumped",
    is_flag=False,
    flag_value="schedule",
    type=click.Choice(list(DUMPS)),
    help="Print what a pass made: without a name, the schedule.",
)
@click.option("--profile", "profiled", is_flag=True, help="Run the step and print what each launch takes.")
@click.option(
    "--save",
    "saved",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write all steps, logits of the last row, as a file that hosts of the C interface run.",
)
@click.option("--position", type=click.IntRange(min=0), default=0, show_default=True, help="Where --profile runs it.")
@device_options
@json_option
def command(
    model: Path,
    rows: int,
    head: str,
    context: int | None,
    numerics: str,
    dumped: str | None,
    profiled: bool,
    saved: Path | None,
    position: int,
    device: str,
    threads: int | None,
    as_json: bool,
) -> None:
    """Show what a step of MODEL is compiled to."""
    if (dumped is not None) + profiled + (saved is not None) + as_json > 1:
        raise UsageError("plan: more than one of --dump, --profile, --save and --json, allowed one")
    if profiled and head == Head.ALL.value:
        raise UsageError("plan: --profile with --head all, allowed --head last")
    checkpoint, recognised = open_model(model, context)
    on = DeviceOptions(threads)
    options = Options(Numerics(numerics), target=DEVICES[device].target(on))
    if profiled:
        engine = Engine(checkpoint, recognised, options, device, on)
        click.echo("\n".join(_times(profile(Session(engine), rows, position))))
        return
    if saved is not None:
        if device != DEFAULT:
            raise UnsupportedError(f"plan: --save for the device {device}, allowed {DEFAULT}")
        keys = [FormKey(rows) for rows in CHUNK_ROWS if rows <= recognised.context]
        write_image(saved, lower_plan(checkpoint, compile_plan(recognised, keys, options)))
        return
    key = FormKey(rows, Head(head))
    plan = compile_plan(recognised, [key], options)
    form = plan.form(key)
    if dumped is not None:
        click.echo(dump(plan, form, dumped), nl=False)
    elif as_json:
        click.echo(json.dumps(report_plan(form, recognised.context).as_json(), indent=2))
    else:
        click.echo("\n".join(_lines(report_plan(form, recognised.context))))


def _lines(report: PlanReport) -> Iterator[str]:
    yield f"step of {report.rows} rows, head {report.head}, {report.numerics}, {report.context} positions"
    yield table_text(list(_kinds(report)), numbers=frozenset({1, 2, 3}))
    if report.rules:
        yield "rules fired"
        yield table_text([[rule, str(count)] for rule, count in report.rules.items()], numbers=frozenset({1}))
    yield "buffers"
    yield table_text([[b.fill, str(b.arrays), bytes_text(b.bytes)] for b in report.buffers], numbers=frozenset({1, 2}))
    bound = report.arena_lower_bound_bytes
    over = f"{100 * (report.arena_bytes / bound - 1):.2f} % over" if bound else "at"
    yield f"arena {bytes_text(report.arena_bytes)}, {over} the most live at once"


def _kinds(report: PlanReport) -> Iterator[list[str]]:
    yield ["launches", "count", "moved", "operations"]
    for use in report.kinds:
        yield [use.kind, str(use.launches), bytes_text(use.bytes_moved), count_text(use.operations)]
    yield ["all", str(report.launches), bytes_text(report.bytes_moved), count_text(report.operations)]


def _times(times: Sequence[LaunchTime]) -> Iterator[str]:
    total = sum(t.seconds for t in times)
    yield table_text([[f"{t.seconds * 1e6:.1f}", "us", str(t.launch)] for t in times], numbers=frozenset({0}))
    yield "by kind"
    kinds = by_kind(times)
    rows = [[k.kind, str(k.launches), f"{k.seconds * 1e6:.1f} us", f"{100 * k.seconds / total:.1f} %"] for k in kinds]
    yield table_text(
        [*rows, ["all", str(len(times)), f"{total * 1e6:.1f} us", "100.0 %"]], numbers=frozenset({1, 2, 3})
    )
