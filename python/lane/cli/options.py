"""Arguments and options that several commands share. Those that llama.cpp's programs have go by its short names too."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from lane.devices.registry import DEFAULT, DEVICES
from lane.launch.record import Numerics

F = TypeVar("F", bound=Callable[..., Any])

_MODEL = "lane.model"  # where -m leaves the path for MODEL


class _Model(click.Argument):
    """MODEL, unless -m gives it."""

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        value, source = super().consume_value(ctx, opts)
        named = ctx.meta.get(_MODEL)
        if named is None:
            return value, source
        if source is ParameterSource.COMMANDLINE:
            raise click.UsageError("MODEL and -m, allowed one of them", ctx)
        return named, ParameterSource.COMMANDLINE


def model_argument(command: F) -> F:
    """MODEL, or `-m`."""

    def keep(ctx: click.Context, parameter: click.Parameter, value: Path | None) -> None:
        ctx.meta[_MODEL] = value

    path = click.Path(path_type=Path)
    argument = click.argument("model", cls=_Model, type=path)
    option = click.option("-m", "named", type=path, metavar="MODEL", expose_value=False, callback=keep, help="MODEL.")
    return option(argument(command))


class Finite(click.FloatRange):
    """A number within a range: neither infinite nor none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


numerics_option = click.option(
    "--numerics",
    type=click.Choice([n.value for n in Numerics]),
    default=Numerics.INT8.value,
    show_default=True,
    help="How projections multiply.",
)

context_option = click.option(
    "-c",
    "--ctx",
    "context",
    type=click.IntRange(min=1),
    metavar="N",
    help="Positions to hold.  [default: the model's own, at most 4096]",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def device_options(command: F) -> F:
    """`--device` and `--threads`."""
    threads = click.option(
        "-t",
        "--threads",
        type=click.IntRange(1, 1024),
        metavar="N",
        help="CPU threads.  [default: all that the process may run on]",
    )
    device = click.option(
        "--device", type=click.Choice(list(DEVICES)), default=DEFAULT, show_default=True, help="What to run on."
    )
    return device(threads(command))
