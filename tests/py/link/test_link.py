"""Link: which launches an op becomes, quantising once, views, and the refusals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from lane.errors import UnsupportedError
from lane.graph import ops as g
from lane.graph.graph import Head, StepGraph
from lane.launch import data, norm, projection
from lane.launch.record import Numerics
from lane.link.link import Linked, link
from tests.py.support.fixtures import FIXTURES, GRAPHS, Fixture
from tests.py.support.graphs import Step, matrix, ones, param, state, values

QUANTISING = (Numerics.INT8, Numerics.INT8X2)


def launches(graph: StepGraph, numerics: Numerics = Numerics.INT8) -> list[str]:
    return [item.launch.kind for item in link(graph, numerics)]


def quants(linked: tuple[Linked, ...]) -> list[projection.Quant]:
    return [item.launch for item in linked if isinstance(item.launch, projection.Quant)]


def embedded(rows: int = 1, cols: int = 64) -> tuple[Step, str]:
    s = Step(rows)
    return s, s.add(g.Gather(s.tensor(matrix("table", 40, cols)), s.tokens, "x", rows))


def project(s: Step, x: str, out: str, rows: int = 40, format: str = "Q8_0", cols: int = 64) -> str:
    return s.add(g.MatMul(x, s.tensor(matrix(f"{out}.w", rows, cols, format)), out))


# --- quantised forms --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("numerics", QUANTISING)
def test_a_tensor_is_quantised_once_before_its_first_reader(numerics: Numerics) -> None:
    s, x = embedded()
    y = s.add(g.Scale(x, "y", 2.0))
    project(s, y, "a")
    project(s, x, "b")
    project(s, y, "c")
    linked = link(s.close(project(s, x, "logits")), numerics)
    kinds = [item.launch.kind for item in linked]
    assert kinds == ["gather", "scale", "quant", "gemv", "quant", "gemv", "gemv", "gemv", "argmax"]
    assert [(q.x, q.n) for q in quants(linked)] == [("y", 64), ("x", 64)]
    assert all(item.launch.read_quant for item in linked if isinstance(item.launch, projection.Gemv))


def test_precise_quantises_nothing() -> None:
    s, x = embedded()
    linked = link(s.close(project(s, x, "logits")), Numerics.PRECISE)
    assert not quants(linked)
    assert not any(item.launch.read_quant for item in linked if isinstance(item.launch, projection.Gemv))


@pytest.mark.parametrize("format", ["F32", "F16", "BF16"])
@pytest.mark.parametrize("numerics", Numerics)
def test_float_matrices_multiply_float_activations(format: str, numerics: Numerics) -> None:
    s, x = embedded()
    linked = link(s.close(project(s, x, "logits", format=format)), numerics)
    assert not quants(linked)


def test_a_float_and_a_block_matrix_on_one_tensor() -> None:
    s, x = embedded()
    project(s, x, "a", format="F16")
    linked = link(s.close(project(s, x, "logits")), Numerics.INT8)
    gemvs = [item.launch for item in linked if isinstance(item.launch, projection.Gemv)]
    assert [launch.read_quant for launch in gemvs] == [False, True]
    assert len(quants(linked)) == 1


# --- views ------------------------------------------------------------------------------------------------------------


def test_a_row_of_an_activation_is_a_view_and_its_tensor_is_quantised_once_whole() -> None:
    s, x = embedded(rows=4)
    project(s, s.add(g.ReadRow(x, "first", 0)), "a")
    last = s.add(g.ReadRow(x, "last", 3))
    linked = link(s.close(project(s, last, "logits")), Numerics.INT8)
    views = [item.launch for item in linked if isinstance(item.launch, data.View)]
    assert [(v.src, v.out, v.offset, v.n) for v in views] == [("x", "first", 0, 64), ("x", "last", 192, 64)]
    assert [(q.x, q.n) for q in quants(linked)] == [("x", 256)]


def test_a_view_of_a_view_starts_where_both_say() -> None:
    s, x = embedded(rows=4)
    last = s.add(g.ReadRow(s.add(g.ReadRow(x, "row", 2)), "again", 0))
    linked = link(s.close(project(s, last, "logits")), Numerics.INT8)
    assert [q.x for q in quants(linked)] == ["x"]


def test_a_row_of_a_table_is_copied() -> None:
    """A table may be written in place before the row's last reader."""
    s, x = embedded()
    cache = s.tensor(state("cache", 8, 64))
    row = s.add(g.ReadRow(cache, "row", 5))
    s.add(g.WriteRows(cache, x, s.pos))
    linked = link(s.close(project(s, row, "logits")), Numerics.INT8)
    copy = next(item.launch for item in linked if isinstance(item.launch, data.Slice))
    assert (copy.x, copy.y, copy.groups, copy.every, copy.start, copy.width) == ("cache", "row", 1, 512, 320, 64)


# --- refusals ---------------------------------------------------------------------------------------------------------


def refusal(graph: StepGraph, numerics: Numerics = Numerics.INT8) -> str:
    with pytest.raises(UnsupportedError) as caught:
        link(graph, numerics)
    return str(caught.value)


def test_a_projection_of_a_width_that_is_no_whole_number_of_blocks() -> None:
    s, x = embedded(cols=48)
    graph = s.close(project(s, x, "logits", cols=48))
    assert refusal(graph) == (
        "link: no launch for op 1 'matmul' writing 'logits': "
        "reads 'x' quantised; its width is 48, allowed a multiple of 32"
    )
    link(graph, Numerics.PRECISE)  # reads it plain


def test_a_view_that_starts_inside_a_block() -> None:
    """Two values a row: rows 0 to 31 are two blocks, row 5 starts at 10."""
    s, x = embedded(rows=32, cols=32)
    pairs = s.add(g.Slice(x, "pairs", 32, 0, 2))
    graph = s.close(project(s, s.add(g.ReadRow(pairs, "pair", 5)), "logits", cols=2))
    assert "reads 'pair' quantised; its width is 2, allowed a multiple of 32" in refusal(graph)


def test_a_view_whose_tensor_is_no_whole_number_of_blocks() -> None:
    """A view of whole blocks at the start of a row that is not."""
    s, x = embedded(rows=3, cols=48)
    head = s.add(g.Slice(x, "head", 48, 0, 32))
    link(s.close(project(s, s.add(g.ReadRow(head, "row", 1)), "logits", cols=32)), Numerics.INT8)


def op_refusals() -> dict[str, tuple[Callable[[Step, str], str], str]]:
    def tensors(s: Step) -> None:
        for tensor in (
            values("f32", np.ones((64, 40))),
            values("rows", np.ones((4, 64))),
            matrix("heads", 64, 32),
            state("cache", 8, 64),
            ones("bias", 40),
            state("rest", 8, 64),
            param("index", 8),
        ):
            s.tensor(tensor)

    def case(op: g.Op) -> Callable[[Step, str], str]:
        def add(s: Step, x: str) -> str:
            tensors(s)
            s.add(op)
            return project(s, x, "logits")

        return add

    def attention(values: str = "cache", **own: object) -> Callable[[Step, str], str]:
        return case(g.Attention("x", "cache", values, "pos", None, "o", 1, 1, 64, 64, 0.5, **own))  # type: ignore[arg-type]

    none, attends = "lane has no launch kind for it yet", "lane has no launch kind for attention with "
    return {
        "clamped_swiglu": (case(g.ClampedSwiGlu("x", "x", "o", 7.0, 1.7)), none),
        "l2_norm": (case(g.L2Norm("x", "o", 64, 1e-6)), none),
        "join": (case(g.Join("x", "x", "o", 32, 32)), none),
        "matmul_values": (case(g.MatMulValues("x", "f32", "o")), none),
        "head_matmul": (case(g.HeadMatMul("x", "heads", "o", 2, 32, 32)), none),
        "attention": (attention(value_start=0), attends + "values inside the keys yet"),
        "attention split": (attention(q_rest="x", keys_rest="rest", rest=64), attends + "split queries and keys yet"),
        "attention gated": (attention(gate="x"), attends + "an output gate yet"),
        "matmul": (case(g.MatMul("x", "table", "o", "bias")), "a projection with its bias inside is a fused class"),
        "gather": (case(g.Gather("rows", "index", "o", 1)), "table 'rows' has no checkpoint rows"),
    }


@pytest.mark.parametrize("kind", op_refusals())
def test_an_op_without_a_launch_is_named_with_its_output_and_why(kind: str) -> None:
    add, why = op_refusals()[kind]
    s, x = embedded()
    text = refusal(s.close(add(s, x)))
    assert text.startswith(f"link: no launch for op 1 '{kind.split()[0]}' writing 'o': {why}")


# --- whole models -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("numerics", Numerics)
@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda f: f.name)
def test_every_op_of_every_model_is_computed_by_one_launch(fixture: Fixture, numerics: Numerics) -> None:
    model = fixture.model(context=64)
    for rows, head in ((1, Head.LAST), (8, Head.LAST), (8, Head.ALL)):
        graph = model.step(rows, head)
        linked = link(graph, numerics)
        assert [op for item in linked for op in item.ops] == list(range(len(graph.ops)))
        quantised = [launch.x for launch in quants(linked)]
        assert len(set(quantised)) == len(quantised)
        assert bool(quantised) == (numerics is not Numerics.PRECISE and fixture.name not in ("F32", "F16", "BF16"))


def test_rows_are_written_at_a_position_or_at_a_fixed_row() -> None:
    s, x = embedded()
    cache = s.tensor(state("cache", 8, 64))
    s.add(g.WriteRows(cache, x, s.pos))
    s.add(g.WriteRows(cache, x, None, 3))
    linked = link(s.close(project(s, x, "logits")), Numerics.PRECISE)
    rows = [item.launch for item in linked if isinstance(item.launch, data.SetRow)]
    assert [(launch.index, launch.row) for launch in rows] == [("pos", None), (None, 3)]


@pytest.mark.parametrize("fixture", GRAPHS, ids=lambda f: f.name)
def test_families_without_launches_are_refused_by_op(fixture: Fixture) -> None:
    with pytest.raises(
        UnsupportedError, match=r"link: no launch for op \d+ '\w+' writing '[\w.]+': lane has no launch"
    ):
        link(fixture.model(context=64).step(1), Numerics.INT8)


def test_layer_norms_are_centred_norms() -> None:
    s, x = embedded()
    s.add(g.LayerNorm(x, s.tensor(ones("w", 64)), s.tensor(ones("b", 64)), "n", 64, 1e-5))
    linked = link(s.close(project(s, "n", "logits")), Numerics.PRECISE)
    launch = linked[1].launch
    assert isinstance(launch, norm.Norm)
    assert (launch.w, launch.bias, launch.rows, launch.cols, launch.centre) == ("w", "b", 1, 64, True)
