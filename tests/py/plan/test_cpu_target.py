"""What launches have for themselves on a CPU: asked of its kernels, placed in the arena, seen by the checker."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lane.graph.graph import Head
from lane.launch.attention import Attention
from lane.launch.data import View
from lane.launch.projection import Gemv
from lane.launch.quantised import Component
from lane.launch.record import Numerics
from lane.launch.step import ArgMax
from lane.launch.tiles import tile
from lane.plan.cpu_target import CpuTarget
from lane.plan.step import LoweredStep
from lane.plan.step_plan import PlanError, plan_step, refuse_faults
from lane.schedule.buffers import Fill
from lane.schedule.schedule import Schedule, schedule
from tests.py.support.fixtures import BY_NAME


def on_cpu(rows: int, threads: int, numerics: Numerics = Numerics.INT8, context: int = 100) -> tuple[Schedule, int]:
    planned = schedule(BY_NAME["llama"].model(context=context).step(rows, Head.LAST), numerics)
    return CpuTarget(threads).with_workspace(planned)


def scratch_kinds(s: Schedule) -> set[str]:
    return {s.launches[int(name.split(".")[1])].launch.kind for name, b in s.buffers.items() if b.fill is Fill.SCRATCH}


def test_a_decode_step_s_attention_has_its_chunks_parts() -> None:
    """Per head and chunk of the context the greatest score, a sum and vd values; one thread has none to share."""
    s, _ = on_cpu(1, threads=3)
    assert scratch_kinds(s) == {"attention", "argmax"}
    for item in s.launches:
        if isinstance(item.launch, Attention):
            a = item.launch
            chunks = -(-a.len // tile("cpu_span_chunk"))
            [name] = item.scratch
            assert s.buffers[name].elems == a.rows * a.heads * chunks * (2 + a.vd)
            assert name == f"attention.{s.launches.index(item)}.scratch"
    assert scratch_kinds(on_cpu(1, threads=1)[0]) == {"argmax"}


def test_a_chunk_s_projections_have_their_tiles() -> None:
    """More rows than a GEMV takes are packed by all threads, however many those are; floats never are."""
    for threads in (1, 3):
        s, _ = on_cpu(tile("cpu_gemv_rows") + 1, threads)
        for item in s.launches:
            if isinstance(item.launch, Gemv):
                assert len(item.scratch) == (item.launch.m > tile("cpu_gemv_rows"))
            elif not isinstance(item.launch, (Attention, ArgMax)):
                assert not item.scratch
    assert scratch_kinds(on_cpu(16, 1, Numerics.PRECISE)[0]) == {"argmax"}


def test_threads_have_each_their_own() -> None:
    for numerics in Numerics:
        one, three = on_cpu(16, 1, numerics)[1], on_cpu(16, 3, numerics)[1]
        assert three == 3 * one > 0


@pytest.mark.parametrize("rows", [1, 16])
def test_scratch_is_placed_and_checked(rows: int) -> None:
    s, _ = on_cpu(rows, threads=3)
    plan = plan_step(s)
    lowered = LoweredStep(s)
    names = [name for name, buffer in s.buffers.items() if buffer.fill is Fill.SCRATCH]
    placed = {array.buffer: array for array in plan.arena.arrays}
    assert names and all(placed[name].size_bytes == s.buffers[name].elems * 4 for name in names)
    # Put on what its launch reads or writes, it is found.
    item = next(item for item in s.launches if item.scratch and not isinstance(item.launch, (View, ArgMax)))
    touched = next(a.name for a in item.launch.accesses() if a.name in placed)
    component = placed[touched].component
    offsets = {(a.buffer, a.component): a.offset_bytes for a in plan.arena.arrays}
    offsets[item.scratch[0], Component.PLAIN] = plan.arena.offset(touched, component)
    with pytest.raises(PlanError, match=f"'{item.scratch[0]} plain'"):
        refuse_faults(lowered, plan.streams, replace(plan.arena, _offsets=offsets))


def test_a_large_decode_step_s_scratch_is_counted() -> None:
    """64 heads of 128 over 131,072 positions: 68 MB, which were nobody's before."""
    s, _ = on_cpu(1, threads=16)
    number, item = next((n, item) for n, item in enumerate(s.launches) if isinstance(item.launch, Attention))
    wide = replace(item.launch, heads=64, group=8, hd=128, vd=128, len=131072)  # type: ignore[type-var]
    buffers = dict(s.buffers)
    for access in wide.accesses():
        elems = {"kc": 8 * 128 * 131072, "vc": 8 * 128 * 131072, "q": 64 * 128, "out": 64 * 128}
        field = next((f for f in elems if getattr(wide, f) == access.name), None)
        if field is not None:
            buffers[access.name] = replace(buffers[access.name], elems=elems[field])
    alone = replace(s, launches=(replace(item, launch=wide, scratch=()),), buffers=buffers)
    large, _ = CpuTarget(16).with_workspace(alone)
    assert large.buffers["attention.0.scratch"].elems * 4 == 64 * 2048 * 130 * 4 == 68157440
    assert number > 0
