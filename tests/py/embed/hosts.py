"""The example host, run on plans that lane writes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lane.devices.image import write_image
from lane.devices.lowering import lower_plan
from lane.launch.record import Numerics
from lane.models.step import CHUNK_ROWS
from lane.pipeline import Options, compile_plan, open_model
from lane.plan.cpu_target import this_cpu
from lane.plan.plan import FormKey

HOST = os.environ.get("LANE_HOST", "build/host")


def write_plan(
    checkpoint: Path, plan: Path, numerics: Numerics, context: int | None = None, threads: int | None = None
) -> Path:
    """Writes the plan of a checkpoint with all forms that its context has, and gives its path."""
    opened, model = open_model(checkpoint, context)
    keys = [FormKey(rows) for rows in CHUNK_ROWS if rows <= model.context]
    options = Options(numerics, target=this_cpu(threads))
    write_image(plan, lower_plan(opened, compile_plan(model, keys, options)))
    return plan


@dataclass(frozen=True)
class Outcome:
    """What a run of the host ended with."""

    code: int
    ids: list[int]
    error: str


def run_host(*arguments: object) -> Outcome:
    """Runs the host: no Python, and nothing of lane but its library, is at hand."""
    done = subprocess.run([HOST, *map(str, arguments)], env={}, capture_output=True, text=True, check=False)
    return Outcome(done.returncode, [int(word) for word in done.stdout.split()], done.stderr)


def generate(checkpoint: Path, plan: Path, prompt: Sequence[int], count: int) -> list[int]:
    """The ids that follow a prompt."""
    outcome = run_host(checkpoint, plan, count, *prompt)
    assert (outcome.code, outcome.error) == (0, "")
    return outcome.ids
