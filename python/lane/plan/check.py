"""The checker, put to a form: its step in numbers, its streams, its arena.

Enters: what was planned. Leaves: findings, each naming launch, array, bytes and the missing order; none for a sound
plan.
"""

from __future__ import annotations

from lane import _core
from lane.launch.table import ALIGNMENT_BYTES
from lane.plan.arena import ArenaPlan
from lane.plan.step import LoweredStep


def check_step(lowered: LoweredStep, streams: _core.StreamPlan, arena: ArenaPlan) -> list[_core.Finding]:
    """What is wrong with a form's plan. Arrays that live across steps are the pool's account, not this one's."""
    offsets = [arena.offset(buffer.name, component) for buffer, component in lowered.arrays]
    return _core.check_plan(lowered.step, streams, ALIGNMENT_BYTES, arena.total_bytes, 0, offsets)
