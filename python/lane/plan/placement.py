"""Where each buffer of a form lies: a space, and in it the bytes of each array that the buffer has.

Enters: a form's schedule and arena, and what is laid out for all forms. Leaves: a `Place` a buffer. Promise: an alias
lies where its tensor does; forms that see a shared tensor otherwise than the pool does are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lane.graph.graph import Head
from lane.graph.tensor import Rows
from lane.launch.quantised import Component
from lane.launch.table import Space
from lane.plan.arena import ArenaPlan
from lane.plan.pool import PoolPlan, is_constant
from lane.plan.step import places_of
from lane.schedule.buffers import Buffer, Fill
from lane.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Place:
    """A space and the byte offset of each array in it; of a matrix its number, of an external array its order."""

    space: Space
    offsets: Mapping[Component, int]


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
            base = places[buffer.base]
            places[buffer.name] = Place(base.space, places_of(buffer, base.offsets))
    return {name: places[name] for name in schedule.buffers}


def _place(buffer: Buffer, schedule: Schedule, arena: ArenaPlan, shared: Shared) -> Place:
    if buffer.rows is not None:
        return Place(Space.MATRIX, {Component.MATRIX: shared.matrices[buffer.rows]})
    if buffer.fill is Fill.LOGITS and schedule.head is Head.ALL and schedule.rows > 1:
        return Place(Space.EXTERNAL, {Component.PLAIN: 0})
    if buffer.is_step_local:
        offsets = {component: arena.offset(buffer.name, component) for component in Component}
        return Place(Space.ARENA, {component: at for component, at in offsets.items() if at >= 0})
    if is_constant(buffer):
        return Place(Space.POOL, {Component.PLAIN: shared.pool.offset(buffer)})
    return Place(Space.STATE, {Component.PLAIN: shared.state.offset(buffer)})
