"""The pool: every shared buffer once, to the byte, and no form may see it otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lane.launch.record import Numerics
from lane.launch.table import ALIGNMENT_BYTES, ELEM_BYTES
from lane.plan.pool import PoolError, aligned_bytes, lay_pool, shared_buffers
from lane.schedule.buffers import Fill
from lane.schedule.schedule import schedule
from tests.py.support.fixtures import BY_NAME

DECODE = schedule(BY_NAME["llama"].model().step(1), Numerics.INT8)


def test_parts_follow_one_another() -> None:
    pool = lay_pool(shared_buffers(DECODE))
    at = 0
    for part in pool.parts:
        assert part.offset_bytes == at
        assert part.size_bytes == part.buffer.elems * ELEM_BYTES[part.buffer.elem]
        at += aligned_bytes(part.size_bytes)
    assert pool.total_bytes == at
    assert pool.total_bytes % ALIGNMENT_BYTES == 0
    assert pool.total_bytes == pool.filled_bytes(*Fill)


def test_what_lives_across_steps_is_in_it_and_nothing_else() -> None:
    names = {part.buffer.name for part in lay_pool(shared_buffers(DECODE)).parts}
    io = DECODE.io
    assert {io.token, io.pos, io.logits, "tokens"} <= names
    for buffer in DECODE.buffers.values():
        kept = buffer.fill in (Fill.ZERO, Fill.CONSTANT, Fill.PARAM) and not buffer.is_matrix
        assert (buffer.name in names) == (kept or buffer.name == io.logits)


def test_chunks_see_the_same_parts() -> None:
    pool = lay_pool(shared_buffers(DECODE))
    chunk = schedule(BY_NAME["llama"].model().step(32), Numerics.INT8)
    for buffer in chunk.buffers.values():
        if buffer.fill in (Fill.ZERO, Fill.CONSTANT, Fill.PARAM) and not buffer.is_matrix:
            assert pool.offset(buffer) == pool.named(buffer.name).offset_bytes


def test_forms_that_disagree_are_refused() -> None:
    pool = lay_pool(shared_buffers(DECODE))
    pos = DECODE.buffers[DECODE.io.pos]
    for other in (replace(pos, elems=2), replace(pos, fill=Fill.ZERO), replace(pos, name="other")):
        with pytest.raises(PoolError, match="pool: shared tensor"):
            pool.offset(other)
