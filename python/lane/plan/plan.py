"""The frozen plan: everything that was decided about a model on a device, form by form and for all forms together.

Enters: what the passes made (`lane.pipeline`). Leaves: one value that devices, reports and emitters read; none of them
compiles. Promise: it does not change. A plan with more forms is another plan, in which everything lies where it lay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from lane import _core
from lane.errors import UsageError
from lane.graph.graph import Head, StepGraph
from lane.graph.tensor import Rows
from lane.launch.record import Numerics
from lane.models.recognise import Model
from lane.models.step import MAX_CHUNK_ROWS
from lane.plan.arena import ArenaPlan
from lane.plan.placement import Place
from lane.plan.pool import PoolPlan
from lane.plan.residence import Matrix, matrices, order_to_move
from lane.plan.target import Target
from lane.schedule.buffers import Fill
from lane.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True)
class FormKey:
    """Which step a form is: its rows of one sequence, which of them get logits, and how many sequences it steps.

    Of one row the last is all there is: such keys are equal whatever `head` was asked for.
    """

    rows: int
    head: Head = Head.LAST
    sequences: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.rows <= MAX_CHUNK_ROWS:
            raise UsageError(f"plan: a step of {self.rows} rows, allowed 1 to {MAX_CHUNK_ROWS}")
        if self.sequences < 1 or (self.sequences > 1 and self.rows > 1):
            raise UsageError(f"plan: a step of {self.sequences} sequences of {self.rows} rows, allowed 1 of either")
        if self.rows == 1:
            object.__setattr__(self, "head", Head.LAST)

    def __str__(self) -> str:
        return f"{self.rows} rows, head {self.head.value}" if self.sequences == 1 else f"{self.sequences} sequences"


DECODE = FormKey(1)


@dataclass(frozen=True)
class FormPlan:
    """One form: its graph, schedule, streams, arena, and where each buffer lies."""

    key: FormKey
    graph: StepGraph
    schedule: Schedule
    streams: _core.StreamPlan
    arena: ArenaPlan
    places: Mapping[str, Place]
    scratch_bytes: int = 0  # that a CPU's threads have for themselves at any launch, all together


@dataclass(frozen=True)
class Plan:
    """A model's forms and what they share: constants in one pool, each sequence's state, and the matrices.

    `matrices` are numbered in order of first use, as places name them; tied names are one.
    """

    model: Model
    numerics: Numerics
    forms: Mapping[FormKey, FormPlan]
    pool: PoolPlan
    state: PoolPlan
    matrices: tuple[Rows, ...]
    target: Target | None = None  # the device that it is for

    def form(self, key: FormKey) -> FormPlan:
        """A form of the plan; UsageError for one that was not compiled."""
        if key not in self.forms:
            known = "; ".join(map(str, self.forms))
            raise UsageError(f"plan: found no form of {key}, allowed {known}")
        return self.forms[key]

    @property
    def decode(self) -> FormPlan:
        """The decode form, which every plan has."""
        return self.forms[DECODE]

    @property
    def vocab(self) -> int:
        """Width of a row of logits."""
        return self.decode.graph.tensors[self.decode.schedule.io.logits].cols

    @property
    def arena_bytes(self) -> int:
        """Of the largest form."""
        return max(form.arena.total_bytes for form in self.forms.values())

    @property
    def scratch_bytes(self) -> int:
        """What a CPU's threads have for themselves, all together."""
        return max(form.scratch_bytes for form in self.forms.values())

    @cached_property
    def can_rewind(self) -> bool:
        """Whether a sequence can be taken up again at an earlier position: all it carries is rows by position, which
        later steps write anew before they read them."""
        carried = (part.buffer.tensor for part in self.state.parts if part.buffer.fill is Fill.ZERO)
        return all(tensor is not None and tensor.rows == self.model.context for tensor in carried)

    @cached_property
    def move_order(self) -> tuple[Matrix, ...]:
        """The matrices in the order in which they move to host memory, where a device is too small."""
        schedules = [form.schedule for form in self.forms.values()]
        return tuple(order_to_move(matrices(schedules, self.decode.schedule)))
