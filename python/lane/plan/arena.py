"""Where the arrays of a step lie in its arena.

Enters: a step in numbers and its stream plan. Leaves: for every step-local buffer the byte offset of each array it
has. Promise: two arrays share bytes only where the plan's order puts every access to one before every access to the
other; an offset is a multiple of the alignment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lane import _core
from lane.launch.quantised import Component
from lane.launch.table import ALIGNMENT_BYTES
from lane.plan.step import LoweredStep

STRATEGIES = tuple(_core.arena_strategies())


@dataclass(frozen=True, slots=True)
class Placed:
    """One array of a buffer and where it lies."""

    buffer: str
    component: Component
    size_bytes: int
    offset_bytes: int


@dataclass(frozen=True)
class ArenaPlan:
    """The arena of one form. `strategy` is the one that found it; `optimal`: there is known to be no smaller one."""

    arrays: tuple[Placed, ...]
    total_bytes: int
    lower_bound_bytes: int
    optimal: bool
    strategy: str
    _offsets: Mapping[tuple[str, Component], int] = field(repr=False)

    def offset(self, buffer: str, component: Component) -> int:
        """The byte offset of an array; -1: the buffer has no such array in the arena."""
        return self._offsets.get((buffer, component), -1)


def place_arrays(lowered: LoweredStep, streams: _core.StreamPlan, strategies: Sequence[str] = STRATEGIES) -> ArenaPlan:
    """Places the step-local arrays of a step that runs on these streams."""
    problem, indices = _core.step_arena(lowered.step, streams, ALIGNMENT_BYTES)
    answer = _core.plan_arena(problem, list(strategies))
    arrays = []
    for index, offset in zip(indices, answer.offsets, strict=True):
        buffer, component = lowered.arrays[index]
        arrays.append(Placed(buffer.name, component, lowered.sizes_bytes[index], int(offset)))
    offsets = {(array.buffer, array.component): array.offset_bytes for array in arrays}
    return ArenaPlan(
        tuple(arrays), answer.total_bytes, answer.lower_bound_bytes, answer.optimal, answer.strategy, offsets
    )
