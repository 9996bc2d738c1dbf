"""The pool: every shared buffer once, to the byte, and no form may see it otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lane.launch.record import Numerics
from lane.launch.table import ALIGNMENT_BYTES, ELEM_BYTES
from lane.plan.pool import PoolError, PoolPlan, aligned_bytes, constant_buffers, lay_pool, state_buffers
from lane.schedule.buffers import Fill
from lane.schedule.schedule import schedule
from tests.py.support.fixtures import BY_NAME

DECODE = schedule(BY_NAME["llama"].model().step(1), Numerics.INT8)


CHUNK = schedule(BY_NAME["llama"].model().step(32), Numerics.INT8)
CONSTANTS, STATE = lay_pool(constant_buffers([DECODE])), lay_pool(state_buffers([DECODE]))


@pytest.mark.parametrize("pool", [CONSTANTS, STATE])
def test_parts_follow_one_another(pool: PoolPlan) -> None:
    at = 0
    for part in pool.parts:
        assert part.offset_bytes == at
        assert part.size_bytes == part.buffer.elems * ELEM_BYTES[part.buffer.elem]
        at += aligned_bytes(part.size_bytes)
    assert pool.total_bytes == at
    assert pool.total_bytes % ALIGNMENT_BYTES == 0
    assert pool.total_bytes == pool.filled_bytes(*Fill)


def test_what_lives_across_steps_is_in_one_of_them_and_nothing_else() -> None:
    constants, state = ({part.buffer.name for part in pool.parts} for pool in (CONSTANTS, STATE))
    io = DECODE.io
    assert {io.token, io.pos, io.logits, "tokens"} <= state
    for buffer in DECODE.buffers.values():
        assert (buffer.name in constants) == (buffer.fill is Fill.CONSTANT and not buffer.is_matrix)
        kept = buffer.fill in (Fill.ZERO, Fill.PARAM)
        assert (buffer.name in state) == (kept or buffer.name == io.logits)


def test_chunks_see_the_same_parts() -> None:
    for buffer in CHUNK.buffers.values():
        if buffer.fill in (Fill.ZERO, Fill.CONSTANT, Fill.PARAM) and not buffer.is_matrix:
            pool = CONSTANTS if buffer.fill is Fill.CONSTANT else STATE
            assert pool.offset(buffer) == pool.named(buffer.name).offset_bytes


def test_more_forms_leave_everything_where_it_is() -> None:
    extra = replace(DECODE.buffers[DECODE.io.pos], name="extra", elems=7)
    grown = lay_pool([extra, *state_buffers([DECODE, CHUNK])], STATE)
    assert grown.parts[: len(STATE.parts)] == STATE.parts
    assert [part.buffer.name for part in grown.parts[len(STATE.parts) :]] == ["extra"]


def test_forms_that_disagree_are_refused() -> None:
    pool = STATE
    pos = DECODE.buffers[DECODE.io.pos]
    for other in (replace(pos, elems=2), replace(pos, fill=Fill.ZERO), replace(pos, name="other")):
        with pytest.raises(PoolError, match="pool: shared tensor"):
            pool.offset(other)
