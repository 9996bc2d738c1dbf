"""Where each buffer of a form lies: a space, and in it the bytes of each array that the buffer has.

Enters: a form's schedule and arena, and what is laid out for all forms. Leaves: a `Place` a buffer. Promise: an alias
lies where its tensor does; forms that see a shared tensor otherwise than the pool does are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lane.graph.graph import Head
from lane.graph.tensor import Rows
from lane.launch.record import Numerics
from lane.launch.table import Space
from lane.plan.arena import ArenaPlan
from lane.plan.pool import PoolPlan, is_constant
from lane.plan.step import Part, is_step_local, part_spans
from lane.schedule.buffers import Buffer
from lane.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Place:
    """A space and the byte offset of each array in it; of a matrix its number, of an external array its order."""

    space: Space
    offsets: Mapping[Part, int]


@dataclass(frozen=True, slots=True)
class Shared:
    """What all forms share: the pool, the layout of every sequence's state, the matrices' numbers."""

    pool: PoolPlan
    state: PoolPlan
    matrices: Mapping[Rows, int]


def place_buffers(schedule: Schedule, arena: ArenaPlan, shared: Shared) -> Mapping[str, Place]:
    """The place of every buffer of a form."""
    places: dict[str, Place] = {}
    for buffer in schedule.buffers.values():
        if buffer.base is None:
            places[buffer.name] = _place(buffer, schedule, arena, shared)
    for buffer in schedule.buffers.values():
        if buffer.base is not None:
            base = schedule.buffers[buffer.base]
            places[buffer.name] = _within(buffer, base, places[buffer.base], schedule.numerics)
    return {name: places[name] for name in schedule.buffers}


def _place(buffer: Buffer, schedule: Schedule, arena: ArenaPlan, shared: Shared) -> Place:
    if isinstance(buffer.tensor.placement, Rows):
        return Place(Space.MATRIX, {Part.MATRIX: shared.matrices[buffer.tensor.placement]})
    if buffer.name == schedule.io.logits and schedule.head is Head.ALL and schedule.rows > 1:
        return Place(Space.EXTERNAL, {Part.PLAIN: 0})
    if is_step_local(buffer, schedule):
        offsets = {part: arena.offset(buffer.name, part) for part in Part}
        return Place(Space.ARENA, {part: at for part, at in offsets.items() if at >= 0})
    if is_constant(buffer):
        return Place(Space.POOL, {Part.PLAIN: shared.pool.offset(buffer)})
    return Place(Space.STATE, {Part.PLAIN: shared.state.offset(buffer)})


def _within(buffer: Buffer, base: Buffer, place: Place, numerics: Numerics) -> Place:
    """The place of a view: every array of the tensor from the view's first element on."""
    offsets = {}
    for part, at in place.offsets.items():
        span = next(iter(part_spans(buffer.offset, buffer.elems, base, part, numerics)))
        offsets[part] = at + span.begin
    return Place(place.space, offsets)
