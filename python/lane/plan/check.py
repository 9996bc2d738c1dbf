"""The checker, put to a form: its step in numbers, its streams, its arena; and to where all forms' buffers lie.

Enters: what was planned. Leaves: findings, each naming launch, array, bytes and the missing order; none for a sound
plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from lane import _core
from lane.errors import LaneError
from lane.launch.quantised import Component
from lane.launch.table import ALIGNMENT_BYTES, Space
from lane.plan.arena import ArenaPlan
from lane.plan.placement import Place
from lane.plan.plan import FormPlan, Plan
from lane.plan.step import LoweredStep, array_bytes
from lane.schedule.buffers import Buffer


def check_step(lowered: LoweredStep, streams: _core.StreamPlan, arena: ArenaPlan) -> list[_core.Finding]:
    """What is wrong with a form's plan. Arrays that live across steps are the pool's account, not this one's."""
    offsets = [arena.offset(buffer.name, component) for buffer, component in lowered.arrays]
    return _core.check_plan(lowered.step, streams, ALIGNMENT_BYTES, arena.total_bytes, 0, offsets)


class PlacementError(LaneError):
    """A buffer that lies where it must not: a fault of a pass, not of the user's."""


def refuse_misplaced(plan: Plan) -> None:
    """PlacementError for the first buffer of any form that does not lie within its space, or not as others see it."""
    for form in plan.forms.values():
        for buffer in form.schedule.buffers.values():
            for fault in _faults(buffer, form, plan):
                raise PlacementError(f"placement: form of {form.key}: '{buffer}': {fault}")


def _faults(buffer: Buffer, form: FormPlan, plan: Plan) -> Iterator[str]:
    place = form.places.get(buffer.name)
    if place is None:
        yield "found no place, allowed one"
        return
    if place.space is Space.MATRIX:
        yield from _matrix_faults(buffer, place, plan)
        return
    if place.space is Space.EXTERNAL:
        return
    rooms = {
        Space.ARENA: form.arena.total_bytes,
        Space.POOL: plan.pool.total_bytes,
        Space.STATE: plan.state.total_bytes,
    }
    room = rooms[place.space]
    for component, at in place.offsets.items():
        size_bytes = array_bytes(buffer, component)
        if at < 0 or at + size_bytes > room:
            where = f"bytes {at} to {at + size_bytes} of the {place.space.value}"
            yield f"found {component.value} in {where}, allowed 0 to {room}"
        if buffer.base is None and at % ALIGNMENT_BYTES:
            yield f"found {component.value} at byte {at}, allowed a multiple of {ALIGNMENT_BYTES}"
    for component in (c for c, has in ((Component.PLAIN, buffer.plain), (Component.WORDS, buffer.quant)) if has):
        if component not in place.offsets:
            yield f"found no bytes of its {component.value}, allowed some"


def _matrix_faults(buffer: Buffer, place: Place, plan: Plan) -> Iterator[str]:
    number = place.offsets[Component.MATRIX]
    if buffer.rows is None or not 0 <= number < len(plan.matrices) or plan.matrices[number] != buffer.rows:
        yield f"found matrix number {number}, allowed that of its rows among {len(plan.matrices)}"
