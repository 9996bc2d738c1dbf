"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from lane.devices.registry import DEFAULT, DEVICES
from lane.launch.record import Numerics

F = TypeVar("F", bound=Callable[..., Any])

model_argument = click.argument("model", type=click.Path(path_type=Path))

numerics_option = click.option(
    "--numerics",
    type=click.Choice([n.value for n in Numerics]),
    default=Numerics.INT8.value,
    show_default=True,
    help="How projections multiply.",
)

context_option = click.option(
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
        "--threads",
        type=click.IntRange(1, 1024),
        metavar="N",
        help="CPU threads.  [default: all that the process may run on]",
    )
    device = click.option(
        "--device", type=click.Choice(list(DEVICES)), default=DEFAULT, show_default=True, help="What to run on."
    )
    return device(threads(command))
