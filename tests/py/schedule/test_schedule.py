"""Schedules: buffers, censuses, dumps, counts, and what a schedule refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lane.graph import ops as g
from lane.graph.graph import Head, StepGraph
from lane.graph.tensor import Role, Tensor
from lane.launch import data, projection
from lane.launch.attention import Attention
from lane.launch.fields import Mode, RowsSeen
from lane.launch.quantised import quantised_bytes
from lane.launch.record import Dest, Numerics
from lane.launch.table import Elem
from lane.link.link import Linked
from lane.schedule.buffers import Fill, ScheduleError, lay_out
from lane.schedule.schedule import Schedule, Scratch, check, schedule, with_scratch
from tests.py.support.fixtures import BY_NAME
from tests.py.support.goldens import check_golden
from tests.py.support.graphs import Step, matrix, ones, state

FORMS = (("decode", 1), ("chunk", 16))


def small(rows: int = 4) -> StepGraph:
    """An embedding, a norm, a cache's new rows, and the head of the last row."""
    s = Step(rows)
    table = s.tensor(matrix("table", 40, 64))
    x = s.add(g.Gather(table, s.tokens, "x", rows))
    normed = s.add(g.RmsNorm(x, s.tensor(ones("w", 64)), "normed", 64, 1e-6))
    s.add(g.WriteRows(s.tensor(state("cache", 8, 64)), normed, s.pos))
    return s.close(s.add(g.MatMul(s.add(g.ReadRow(normed, "last", rows - 1)), table, "logits")))


@pytest.mark.parametrize("numerics", Numerics)
@pytest.mark.parametrize(("form", "rows"), FORMS)
@pytest.mark.parametrize("name", ["llama", "gemma3"])
def test_golden(name: str, form: str, rows: int, numerics: Numerics) -> None:
    planned = schedule(BY_NAME[name].model(context=64).step(rows, Head.LAST), numerics)
    census = "".join(f"  {kind} {count}\n" for kind, count in planned.census().items())
    check_golden(f"schedule/{name}.{form}.{numerics.value}.txt", f"census\n{census}{planned.dump()}")


def test_a_dump_is_stable() -> None:
    texts = {schedule(BY_NAME["llama"].model(context=64).step(4), Numerics.INT8).dump() for _ in range(3)}
    assert len(texts) == 1


def test_buffers() -> None:
    buffers = schedule(small(), Numerics.INT8).buffers
    assert {b.name: str(b) for b in buffers.values()} == {
        "table": "table constant f32[2560] matrix",
        "tokens": "tokens param i32[512] plain",
        "x": "x computed f32[256] plain",
        "w": "w constant f32[64] plain",
        "normed": "normed computed f32[256] plain+quant",
        "pos": "pos param i32[1] plain",
        "cache": "cache zero f32[512] plain",
        "last": "last alias f32[64] plain+quant = normed+192",
        "logits": "logits logits f32[40] plain",
        "token": "token param i32[1] plain",
    }


def test_a_view_is_no_launch() -> None:
    planned = schedule(small(), Numerics.INT8)
    assert planned.census() == {"gather": 1, "norm": 1, "set_row": 1, "quant": 1, "gemv": 1, "argmax": 1}
    assert sum(isinstance(item.launch, data.View) for item in planned.launches) == 1
    assert not any(isinstance(item.launch, data.View) for item in planned.executed())


def test_bytes_and_operations() -> None:
    planned = schedule(small(), Numerics.INT8)
    moved = {item.launch.kind: planned.bytes_moved(item) for item in planned.executed()}
    row_bytes = 64 // 32 * 34  # Q8_0: 32 words and an f16 scale
    assert moved["gather"] == 4 * row_bytes + 4 * 4 + 4 * 64 * 4  # of the tokens, the step's
    assert moved["norm"] == 2 * 4 * 64 * 4 + 64 * 4
    assert moved["set_row"] == 4 + 4 * 64 * 4 + 4 * 64 * 4  # the rows written, not the table
    assert moved["quant"] == 4 * 64 * 4 + quantised_bytes(4 * 64, Numerics.INT8)
    assert moved["gemv"] == quantised_bytes(64, Numerics.INT8) + 40 * row_bytes + 40 * 4
    assert planned.operations() == sum(item.launch.operations() for item in planned.launches)
    assert quantised_bytes(64, Numerics.INT8) == 64 + 2 * 4
    assert quantised_bytes(64, Numerics.INT8X2) == 2 * 64 + 2 * 4


def test_rules_are_counted_and_dumped() -> None:
    fired = replace(schedule(small(), Numerics.INT8), firings=(("a", (1, 2)), ("b", (3,)), ("a", (4,))))
    assert fired.rule_counts() == {"a": 2, "b": 1}
    assert fired.dump().endswith("  fired a 1,2\n  fired b 3\n  fired a 4\n")


def test_a_launch_that_names_no_tensor() -> None:
    with pytest.raises(ScheduleError, match="names 'nowhere', bound to no tensor"):
        lay_out(small(), [Linked(projection.Quant("nowhere", "nowhere", 64), ())])


def test_a_view_read_quantised_whose_tensor_is_not() -> None:
    gemv = projection.Gemv("last", "table", Dest("logits"), 64, 40, 1, read_quant=True)
    with pytest.raises(ScheduleError, match="view 'last' is read quantised, its tensor 'normed' has no such form"):
        lay_out(small(), [Linked(data.View("normed", "last", 192, 64), ()), Linked(gemv, ())])


def with_buffer(planned: Schedule, name: str, **changed: object) -> Schedule:
    buffer = replace(planned.buffers[name], **changed)  # type: ignore[arg-type]
    return replace(planned, buffers={**planned.buffers, name: buffer})


@pytest.mark.parametrize("elem", [Elem.F16, Elem.BF16])
def test_only_some_fields_take_a_16_bit_array(elem: Elem) -> None:
    """Rows of a cache may be kept in 16 bits, a norm's result not."""
    planned = schedule(small(), Numerics.INT8)
    check(with_buffer(planned, "cache", elem=elem))
    with pytest.raises(ScheduleError, match=f"launch 1 'norm .*': 'normed' is {elem.value}, allowed f32$"):
        check(with_buffer(planned, "normed", elem=elem))
    with pytest.raises(ScheduleError, match="'tokens' is f32, allowed i32"):
        check(with_buffer(planned, "tokens", elem=Elem.F32))


def test_launches_have_scratch_and_counters_of_their_own() -> None:
    planned = schedule(small(), Numerics.INT8)
    number = next(n for n, item in enumerate(planned.launches) if item.launch.kind == "argmax")
    given = with_scratch(planned, {number: [Scratch("best", 30), Scratch("arrived", 8, counter=True)]})
    scratch, counter = f"argmax.{number}.best", f"4.last.argmax.{number}.arrived"
    assert str(given.buffers[scratch]) == f"{scratch} scratch f32[8] plain"
    assert str(given.buffers[counter]) == f"{counter} counter i32[2] plain"
    assert given.buffers[scratch].is_step_local and not given.buffers[counter].is_step_local
    own = [(a.name, a.mode) for a in given.launches[number].accesses()][-2:]
    assert own == [(scratch, Mode.WRITE), (counter, Mode.UPDATE)]
    assert given.bytes_moved(given.launches[number]) == planned.bytes_moved(planned.launches[number]) + 32 + 8
    check(given)


def test_a_window_bounds_what_attention_moves_and_does() -> None:
    """Of 4096 rows a window of 64 sees 64; a chunk of 4 rows, three more together, and 64 each."""
    q = {"x": 8, "kc": 4096 * 8, "vc": 4096 * 8}
    for rows, window, seen, pairs in ((1, 0, 4096, 4096), (1, 64, 64, 64), (4, 64, 67, 4 * 64), (4, 0, 4096, 16378)):
        launch = Attention("x", "kc", "vc", "pos", None, "y", rows, 2, 1, 4, 4, 4096, 0.5, window=window)
        moved = {
            a.name: q[a.name] if a.extent is None else a.extent.elems(None) for a in launch.accesses() if a.name in q
        }
        assert (moved["kc"], moved["vc"]) == (seen * 8, seen * 8)
        assert launch.operations() == 2 * 2 * (4 + 4) * pairs
        early = [a.extent.elems(10) for a in launch.accesses() if isinstance(a.extent, RowsSeen)]
        assert early == [(10 + rows) * 8] * 2
        assert launch.operations(10) == 2 * 2 * (4 + 4) * sum(range(11, 11 + rows))


def test_a_quantised_tensor_is_whole_blocks() -> None:
    with pytest.raises(ScheduleError, match="'normed' is read quantised; it has 250 values, allowed a multiple of 32"):
        check(with_buffer(schedule(small(), Numerics.INT8), "normed", elems=250))


def test_fills_follow_roles() -> None:
    buffers = schedule(small(), Numerics.INT8).buffers
    assert buffers["logits"].fill is Fill.LOGITS
    own = [b for b in buffers.values() if b.base is None and b.fill is not Fill.LOGITS]
    assert {b.tensor.role: b.fill for b in own if b.tensor is not None} == {
        Role.PARAM: Fill.PARAM,
        Role.STATE: Fill.ZERO,
        Role.CONSTANT: Fill.CONSTANT,
        Role.ACTIVATION: Fill.COMPUTED,
    }


def test_a_missing_golden_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANE_UPDATE_GOLDENS", raising=False)
    with pytest.raises(AssertionError, match=r"golden schedule/nowhere\.txt is missing"):
        check_golden("schedule/nowhere.txt", "")


def test_a_changed_golden_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANE_UPDATE_GOLDENS", raising=False)
    with pytest.raises(AssertionError, match=r"golden graph/llama\.decode\.txt differs"):
        check_golden("graph/llama.decode.txt", "another\n")


def test_tensors_are_the_graphs() -> None:
    graph = small()
    for buffer in schedule(graph, Numerics.INT8).buffers.values():
        assert isinstance(buffer.tensor, Tensor) and graph.tensors[buffer.name] is buffer.tensor
