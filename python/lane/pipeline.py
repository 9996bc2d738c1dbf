"""The pipeline: the stages in order, each verified at its end.

    checkpoint ─► recognised model ─► step graph ─► launches and buffers ─► arena ─► device

Nothing flows back: a later stage reads an earlier one's output and never changes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lane.checkpoint.gguf import Checkpoint
from lane.errors import CapacityError, UsageError
from lane.graph.graph import Head, StepGraph
from lane.launch.record import Numerics
from lane.models.recognise import Model, recognise
from lane.models.step import MAX_CHUNK_ROWS
from lane.plan.arena import ArenaPlan
from lane.plan.plan import plan_arena
from lane.plan.workspace import CpuNumbers, cpu_workspace
from lane.schedule.schedule import Schedule, schedule


@dataclass(frozen=True, slots=True)
class Form:
    """One step compiled: its graph, schedule and arena."""

    graph: StepGraph
    schedule: Schedule
    arena: ArenaPlan


class Lane:
    """A model's forms under one numerics, compiled when first asked for and kept."""

    def __init__(self, model: Model, numerics: Numerics, cpu: CpuNumbers | None = None) -> None:
        self.cpu = cpu  # whose scratch the plans hold; none: a device's that has none
        self.model = model
        self.numerics = numerics
        self._forms: dict[tuple[int, Head], Form] = {}

    def form(self, rows: int, head: Head = Head.LAST) -> Form:
        """The form over `rows` rows (1: the decode step) with logits of the last or of all of them.

        UsageError for a number of rows that no form has, CapacityError for more than the context.
        """
        key = (rows, Head.LAST if rows == 1 else head)
        if key not in self._forms:
            if not 1 <= rows <= MAX_CHUNK_ROWS:
                raise UsageError(f"plan: a step of {rows} rows, allowed 1 to {MAX_CHUNK_ROWS}")
            if rows > self.model.context:
                raise CapacityError(f"plan: a step of {rows} rows, allowed {self.model.context} (the context)")
            self._forms[key] = compile_form(self.model, *key, self.numerics, self.cpu)
        return self._forms[key]


def open_model(path: Path, context: int | None = None) -> tuple[Checkpoint, Model]:
    """Opens a checkpoint and recognises its model."""
    checkpoint = Checkpoint.open(path)
    return checkpoint, recognise(checkpoint, context)


def compile_form(model: Model, rows: int, head: Head, numerics: Numerics, cpu: CpuNumbers | None = None) -> Form:
    """Compiles one step of a model."""
    graph = model.step(rows, head)
    planned = schedule(graph, numerics)
    if cpu is not None:
        planned = cpu_workspace(planned, cpu).schedule
    return Form(graph, planned, plan_arena(planned))
