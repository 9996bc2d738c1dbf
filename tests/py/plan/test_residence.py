"""Residence of real models' matrices: what counts as one, what it takes, and in which order it moves."""

from __future__ import annotations

import pytest

from lane import _core
from lane.errors import CapacityError
from lane.graph.tensor import Rows
from lane.launch.record import Numerics
from lane.launch.table import ALIGNMENT_BYTES
from lane.plan.pool import aligned_bytes, constant_buffers, lay_pool, state_buffers
from lane.plan.residence import (
    STAGED_BYTES,
    Matrix,
    choose_residence,
    device_bytes,
    matrices,
    order_to_move,
    spare_bytes,
)
from lane.plan.step_plan import plan_arena
from lane.schedule.schedule import Schedule, schedule
from tests.py.support.fixtures import BY_NAME, FAMILIES, Fixture


def forms(name: str) -> tuple[Schedule, Schedule]:
    model = BY_NAME[name].model()
    return schedule(model.step(1), Numerics.INT8), schedule(model.step(32), Numerics.INT8)


def found(name: str) -> list[Matrix]:
    decode, chunk = forms(name)
    return matrices([chunk], decode)


def test_tied_matrices_are_one() -> None:
    tied = found("llama_bias_tied")
    assert len({matrix.rows for matrix in tied}) == len(tied)
    assert sum(matrix.name == "token_embd.weight" for matrix in tied) == 1
    assert all(matrix.name != "output.weight" for matrix in tied)


def test_what_moves_first() -> None:
    """An embedding of which a step reads one row; then what it reads whole, the largest first."""
    order = order_to_move(found("llama"))
    assert order[0].name == "token_embd.weight"
    assert order[0].read_bytes < order[0].size_bytes / 10
    whole = [matrix.size_bytes for matrix in order[1:]]
    assert whole == sorted(whole, reverse=True)
    assert all(matrix.read_bytes == matrix.size_bytes for matrix in order[1:])


def test_a_tied_embedding_moves_last() -> None:
    """The head reads all of it and the gather a row more."""
    assert order_to_move(found("llama_bias_tied"))[-1].name == "token_embd.weight"


def test_bytes_on_the_device() -> None:
    assert device_bytes(Rows("Q8_0", 3, 64, ())) == aligned_bytes(3 * 2 * 34)
    assert device_bytes(Rows("F32", 3, 5, ())) == aligned_bytes(3 * 5 * 4)
    assert device_bytes(Rows("Q4_K", 3, 512, ())) == aligned_bytes(3 * 2 * 144 + STAGED_BYTES)


@pytest.mark.parametrize("fixture", FAMILIES, ids=lambda f: f.name)
def test_every_budget_is_carved_to_the_byte(fixture: Fixture) -> None:
    """From what cannot move to everything: carving takes what was said to lie on the device and in host memory."""
    decode, chunk = forms(fixture.name)
    order = order_to_move(matrices([chunk], decode))
    shared = lay_pool([*constant_buffers([decode]), *state_buffers([decode])])
    arena_bytes = max(plan_arena(schedule).total_bytes for schedule in (decode, chunk))
    fixed = [("arena", arena_bytes), *((part.buffer.name, part.size_bytes) for part in shared.parts)]
    least = arena_bytes + shared.total_bytes
    total = sum(matrix.size_bytes for matrix in order)
    kept = []
    for step in range(31):
        budget = least + total * step // 30
        residence = choose_residence(order, arena_bytes, shared.total_bytes, budget)
        moved = [(matrix.name, matrix.size_bytes) for matrix in residence.moved]
        stay = [(m.name, m.size_bytes) for m in order if m not in residence.moved]
        assert residence.device_bytes <= budget
        assert_carved([*fixed, *stay], residence.device_bytes)
        assert_carved(moved, residence.host_bytes)
        kept.append(len(stay))
    assert kept[0] == 0 and kept[-1] == len(order) > kept[15] > 0


def assert_carved(parts: list[tuple[str, int]], planned_bytes: int) -> None:
    """Parts take exactly the bytes planned, and the checker accounts for all of them."""
    offsets = _core.carve_pool([size for _, size in parts], planned_bytes, ALIGNMENT_BYTES)
    placed = [(name, offset, size) for (name, size), offset in zip(parts, offsets, strict=True)]
    assert not _core.check_pool(placed, planned_bytes, ALIGNMENT_BYTES)


def test_refusal_has_the_numbers() -> None:
    with pytest.raises(CapacityError, match="arena of 600 bytes and 400 bytes that cannot move, allowed 999 together"):
        choose_residence(order_to_move(found("llama")), 600, 400, 999)


def test_spare_bytes_grow_with_launches() -> None:
    decode, chunk = forms("llama")
    assert spare_bytes([decode, chunk]) == spare_bytes([decode]) + spare_bytes([chunk]) > 0
