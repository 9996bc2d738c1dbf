"""What a step is compiled to: counts, bytes and operations of its schedule, and its arena.

Enters: a compiled form. Leaves: a `PlanReport`. Bytes moved count each array that a launch touches once, tables and
gathered matrices by the rows touched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from lane.launch.table import ELEM_BYTES
from lane.plan.plan import FormPlan
from lane.schedule.buffers import Fill
from lane.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True)
class KindUse:
    """The launches of one kind."""

    kind: str
    launches: int
    bytes_moved: int
    operations: int


@dataclass(frozen=True, slots=True)
class BufferUse:
    """The arrays that are filled in one way, in their plain form."""

    fill: str
    arrays: int
    bytes: int


@dataclass(frozen=True)
class PlanReport:
    """One form, in numbers."""

    rows: int
    head: str
    numerics: str
    context: int
    kinds: tuple[KindUse, ...]
    rules: Mapping[str, int]
    buffers: tuple[BufferUse, ...]
    arena_bytes: int
    arena_lower_bound_bytes: int

    @property
    def launches(self) -> int:
        """Of all kinds."""
        return sum(use.launches for use in self.kinds)

    @property
    def bytes_moved(self) -> int:
        """By all launches."""
        return sum(use.bytes_moved for use in self.kinds)

    @property
    def operations(self) -> int:
        """Of all launches."""
        return sum(use.operations for use in self.kinds)

    def as_json(self) -> dict[str, object]:
        """Plain values that JSON can hold, totals included."""
        totals = {"launches": self.launches, "bytes_moved": self.bytes_moved, "operations": self.operations}
        return {**asdict(self), **totals}


def report_plan(form: FormPlan, context: int) -> PlanReport:
    """The numbers of a form compiled for `context` positions."""
    schedule = form.schedule
    return PlanReport(
        rows=schedule.rows,
        head=schedule.head.value,
        numerics=schedule.numerics.value,
        context=context,
        kinds=_kinds(schedule),
        rules=schedule.rule_counts(),
        buffers=_buffers(schedule),
        arena_bytes=form.arena.total_bytes,
        arena_lower_bound_bytes=form.arena.lower_bound_bytes,
    )


def _kinds(schedule: Schedule) -> tuple[KindUse, ...]:
    moved: Counter[str] = Counter()
    operations: Counter[str] = Counter()
    for item in schedule.executed():
        moved[item.launch.kind] += schedule.bytes_moved(item)
        operations[item.launch.kind] += item.launch.operations()
    return tuple(KindUse(kind, count, moved[kind], operations[kind]) for kind, count in schedule.census().items())


def _buffers(schedule: Schedule) -> tuple[BufferUse, ...]:
    arrays: Counter[Fill] = Counter()
    total: Counter[Fill] = Counter()
    for buffer in schedule.buffers.values():
        if not buffer.is_matrix:
            arrays[buffer.fill] += 1
            total[buffer.fill] += 0 if buffer.base is not None else buffer.elems * ELEM_BYTES[buffer.elem]
    return tuple(BufferUse(fill.value, arrays[fill], total[fill]) for fill in Fill if arrays[fill])
