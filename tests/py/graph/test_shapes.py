"""Every op's shape rule: what it infers, and each reason for which it rejects."""

from __future__ import annotations

import numpy as np
import pytest

from lane.graph import ops as g
from lane.graph.ops import OPS, GraphError, Op
from lane.graph.tensor import Tensor
from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import BinaryOp, UnaryOp
from lane.launch.meaning.mixture import Clamp, Router, RouterScore
from tests.py.support.graphs import activation, matrix, ones, param, state, values

SOFTMAX = RouterScore.SOFTMAX
ROUTER = Router(SOFTMAX, experts=4, k=2, renormalise=True)
SHARED = {"shared_gate": "w", "shared_up": "w", "shared_down": "shared_down"}

TENSORS: dict[str, Tensor] = {
    t.name: t
    for t in (
        activation("x", 3, 8),
        activation("y", 3, 8),
        activation("two_rows", 2, 8),
        activation("row", 1, 8),
        activation("narrow", 3, 6),
        activation("wide", 3, 16),
        activation("gates", 3, 2),
        activation("k", 3, 4),
        param("pos"),
        param("tokens", 16),
        param("token"),
        matrix("table", 20, 8),
        matrix("w", 5, 8),
        matrix("experts", 4 * 6, 8),
        matrix("down", 4 * 8, 6),
        matrix("router", 4, 8),
        values("f32", np.ones((8, 5))),
        values("cos", np.ones((32, 2))),
        values("cos_short", np.ones((2, 2))),
        values("cos_wide", np.ones((32, 3))),
        values("sin", np.ones((32, 2))),
        ones("eight", 8),
        ones("five", 5),
        ones("four", 4),
        ones("two", 2),
        state("keys", 32, 4),
        state("values", 32, 4),
        state("short_values", 31, 4),
        state("ring", 4, 8),
        state("memory", 1, 2 * 4 * 4),
    )
}


def attention(**changed: object) -> Op:
    fields: dict[str, object] = {
        "q": "x",
        "keys": "keys",
        "values": "values",
        "pos": "pos",
        "sinks": None,
        "out": "o",
        "heads": 4,
        "kv_heads": 2,
        "hd": 2,
        "vd": 2,
        "scale": 0.5,
    }
    return g.Attention(**(fields | changed))  # type: ignore[arg-type]


def moe(**changed: object) -> Op:
    fields: dict[str, object] = {
        "x": "x",
        "router_w": "router",
        "choice_bias": None,
        "gate": "experts",
        "up": "experts",
        "down": "down",
        "out": "o",
        "router": ROUTER,
    }
    return g.Moe(**(fields | changed))  # type: ignore[arg-type]


SPLIT = RopeLayout.SPLIT

INFERRED: tuple[tuple[Op, tuple[int, int] | None], ...] = (
    (g.Gather("table", "tokens", "o", 3), (3, 8)),
    (g.ReadRow("x", "o", 2), (1, 8)),
    (g.WriteRows("keys", "k", "pos"), None),
    (g.WriteRows("keys", "k", None, 29), None),
    (g.Slice("x", "o", 4, 1, 3), (3, 6)),
    (g.Join("x", "k", "o", 4, 2), (3, 12)),
    (g.MatMul("x", "w", "o"), (3, 5)),
    (g.MatMul("x", "w", "o", "five"), (3, 5)),
    (g.MatMulValues("x", "f32", "o"), (3, 5)),
    (g.MatMulValues("x", "f32", "o", "five"), (3, 5)),
    (g.HeadMatMul("x", "five_heads", "o", 2, 4, 3), (3, 6)),
    (g.HeadMatMul("narrow", "five_heads", "o", 2, 3, 4, rows_in=True), (3, 8)),
    (g.HeadMatMul("k", "five_heads", "o", 2, 4, 3, shared=True), (3, 6)),
    (g.RmsNorm("x", "four", "o", 4, 1e-6), (3, 8)),
    (g.RmsNorm("x", None, "o", 8, 0.0), (3, 8)),
    (g.LayerNorm("x", "eight", "eight", "o", 8, 1e-5), (3, 8)),
    (g.L2Norm("x", "o", 4, 1e-6), (3, 8)),
    (g.Binary(BinaryOp.ADD, "x", "y", "o"), (3, 8)),
    (g.Binary(BinaryOp.MUL, "x", "eight", "o"), (3, 8)),
    (g.Scale("x", "o", 0.5), (3, 8)),
    (g.Unary(UnaryOp.SILU, "x", "o"), (3, 8)),
    (g.Unary(UnaryOp.SOFT_CAP, "x", "o", 30.0), (3, 8)),
    (g.SwiGlu("x", "y", "o"), (3, 8)),
    (g.ClampedSwiGlu("x", "y", "o", 7.0, 1.702), (3, 8)),
    (g.Rotate("x", "cos", "sin", "pos", "o", 4, SPLIT), (3, 8)),
    (attention(), (3, 8)),
    (attention(sinks="four", window=5, cap=50.0), (3, 8)),
    (attention(values="keys", value_start=1, vd=1, gate="k"), (3, 4)),
    (attention(q_rest="k", keys_rest="short", rest=1, rest_start=5), (3, 8)),
    (g.Conv("x", "conv_w", "ring", "pos", "o", 4), (3, 8)),
    (g.Decay("gates", "two", "two", "o"), (3, 2)),
    (g.Delta("k", "k", "x", "gates", "gates", "memory", "o", 1, 2, 4), (3, 8)),
    (moe(), (3, 8)),
    (moe(router_w="router_values", router_f32=True, router_bias="four", choice_bias="four"), (3, 8)),
    (moe(gate_bias="gate_biases", up_bias="gate_biases", down_bias="down_biases", clamp=Clamp(7.0, 1.7)), (3, 8)),
    (moe(**SHARED, shared_score="eight", router=Router(SOFTMAX, 4, 2, True, 2.5, 2, 1)), (3, 8)),
    (g.ArgMax("x", "token", "pos", 1), None),
)

TENSORS["five_heads"] = matrix("five_heads", 2 * 3, 4)
TENSORS["conv_w"] = ones("conv_w", 4, 8)
TENSORS["short"] = state("short", 32, 6)
TENSORS["router_values"] = values("router_values", np.ones((8, 4)))
TENSORS["gate_biases"] = ones("gate_biases", 6, 4)
TENSORS["down_biases"] = ones("down_biases", 8, 4)
TENSORS["shared_down"] = matrix("shared_down", 8, 5)

REJECTED: tuple[tuple[Op, str], ...] = (
    (g.Gather("table", "x", "o", 3), "index 'x' is f32, allowed i32"),
    (g.Gather("table", "tokens", "o", 0), "rows 0, allowed 1 to 16"),
    (g.Gather("table", "tokens", "o", 17), "rows 17, allowed 1 to 16"),
    (g.ReadRow("x", "o", 3), "row 3, allowed 0 to 2"),
    (g.ReadRow("x", "o", -1), "row -1, allowed 0 to 2"),
    (g.WriteRows("keys", "x", "pos"), "source is 8 wide, allowed 4"),
    (g.WriteRows("keys", "k", None, 30), "3 rows from row 30, allowed rows 0 to 31"),
    (g.WriteRows("keys", "k", None, -1), "3 rows from row -1, allowed rows 0 to 31"),
    (g.Slice("x", "o", 3, 0, 1), "group width 3, allowed a divisor of 8"),
    (g.Slice("x", "o", 0, 0, 1), "group width 0, allowed a divisor of 8"),
    (g.Slice("x", "o", 4, 2, 3), "values 2 to 5 of a group, allowed 0 to 4"),
    (g.Slice("x", "o", 4, -1, 2), "values -1 to 1 of a group, allowed 0 to 4"),
    (g.Slice("x", "o", 4, 1, 0), "values 1 to 1 of a group, allowed 0 to 4"),
    (g.Join("x", "two_rows", "o", 4, 4), "b has 2 rows, allowed 3"),
    (g.Join("x", "k", "o", 4, 4), "units of 4 in 8 and of 4 in 4, allowed as many of one as of the other"),
    (g.Join("x", "k", "o", 3, 2), "units of 3 in 8"),
    (g.Join("x", "k", "o", 4, 0), "units of 4 and 0 values, allowed 1 or more"),
    (g.MatMul("x", "f32", "o"), "'f32' has no checkpoint rows"),
    (g.MatMul("narrow", "w", "o"), "x is 6 wide, allowed 8"),
    (g.MatMul("x", "w", "o", "eight"), "bias of 8 values, allowed 5"),
    (g.MatMulValues("x", "w", "o"), "'w' has no values"),
    (g.MatMulValues("narrow", "f32", "o"), "x is 6 wide, allowed 8"),
    (g.MatMulValues("x", "f32", "o", "eight"), "bias of 8 values, allowed 5"),
    (g.HeadMatMul("narrow", "five_heads", "o", 2, 4, 3), "x is 6 wide, allowed 2·4"),
    (g.HeadMatMul("x", "five_heads", "o", 2, 4, 4), "'five_heads' is 6x4, allowed 8x4"),
    (g.HeadMatMul("x", "five_heads", "o", 2, 4, 3, rows_in=True), "'five_heads' is 6x4, allowed 8x3"),
    (g.HeadMatMul("x", "five_heads", "o", 2, 4, 3, shared=True), "x is 8 wide, allowed 1·4"),
    (g.RmsNorm("x", "four", "o", 3, 1e-6), "units of 3 values, allowed a divisor of 8"),
    (g.RmsNorm("x", "four", "o", 0, 1e-6), "units of 0 values, allowed a divisor of 8"),
    (g.RmsNorm("x", "five", "o", 8, 1e-6), "'five' has 5 values, allowed 8"),
    (g.RmsNorm("x", "eight", "o", 8, -1e-6), "epsilon -1e-06, allowed 0 to 1"),
    (g.RmsNorm("x", "eight", "o", 8, float("nan")), "epsilon nan, allowed 0 to 1"),
    (g.LayerNorm("x", "eight", "five", "o", 8, 1e-5), "'five' has 5 values, allowed 8"),
    (g.L2Norm("x", "o", 5, 1e-6), "units of 5 values, allowed a divisor of 8"),
    (g.Binary(BinaryOp.ADD, "x", "narrow", "o"), "'narrow' is 3x6, allowed 3x8"),
    (g.Binary(BinaryOp.ADD, "x", "two_rows", "o"), "'two_rows' is 2x8, allowed 3x8"),
    (g.Scale("x", "o", float("inf")), "factor inf, allowed a finite number"),
    (g.Unary(UnaryOp.SOFT_CAP, "x", "o"), "soft cap 0.0, allowed above 0"),
    (g.SwiGlu("x", "narrow", "o"), "'narrow' is 3x6, allowed 3x8"),
    (g.ClampedSwiGlu("x", "y", "o", 0.0, 1.0), "limit 0.0, allowed above 0"),
    (g.ClampedSwiGlu("x", "narrow", "o", 1.0, 1.0), "'narrow' is 3x6, allowed 3x8"),
    (g.Rotate("x", "cos", "sin", "pos", "o", 3, SPLIT), "heads of 3 values, allowed a divisor of 8"),
    (g.Rotate("x", "cos", "sin", "pos", "o", 0, SPLIT), "heads of 0 values, allowed a divisor of 8"),
    (g.Rotate("x", "cos_wide", "cos_wide", "pos", "o", 4, SPLIT), "6 rotated values, allowed at most 4"),
    (g.Rotate("x", "cos", "cos_short", "pos", "o", 4, SPLIT), "the cos and sin tables differ in shape"),
    (g.Rotate("x", "cos_short", "cos_short", "pos", "o", 4, SPLIT), "3 rows, allowed 2 positions"),
    (attention(kv_heads=3), "4 heads, allowed a multiple of 3"),
    (attention(kv_heads=0), "4 heads, allowed a multiple of 0"),
    (attention(q="wide"), "queries are 16 wide, allowed 4·2"),
    (attention(keys="ring"), "keys are 8 wide, allowed 2·2"),
    (attention(values="ring"), "values are 8 wide, allowed 2·2"),
    (attention(values="short_values"), "31 value rows, allowed 32"),
    (attention(window=-1), "window -1 and cap 0.0, allowed 0 or more"),
    (attention(cap=-1.0), "window 0 and cap -1.0, allowed 0 or more"),
    (attention(sinks="two"), "2 sinks, allowed 4"),
    (attention(value_start=1, vd=1), "values inside the keys, but of 'values', allowed 'keys'"),
    (attention(values="keys", value_start=1), "values 1 to 3 of a key, allowed 0 to 2"),
    (attention(gate="k"), "gate of 3x4, allowed 3x8"),
    (attention(q_rest="k"), "one half of a split, allowed q_rest, keys_rest and rest, or none of them"),
    (attention(q_rest="x", keys_rest="short", rest=1), "'x' is 3x8, allowed 3x4"),
    (attention(q_rest="k", keys_rest="short_values", rest=1), "'short_values' has 31 rows, allowed those of the keys"),
    (attention(q_rest="k", keys_rest="short", rest=1, rest_start=6), "values 6 to 7 of 'short', allowed 0 to 6"),
    (g.Conv("x", "eight", "ring", "pos", "o", 4), "weights of 1x8, allowed 8x4"),
    (g.Conv("x", "conv_w", "keys", "pos", "o", 4), "ring of 32x4, allowed 4x8"),
    (g.Decay("gates", "four", "two", "o"), "'four' has 4 values, allowed 2"),
    (g.Decay("gates", "two", "four", "o"), "'four' has 4 values, allowed 2"),
    (g.Delta("x", "k", "x", "gates", "gates", "memory", "o", 1, 2, 4), "'x' is 8 wide, allowed 1·4"),
    (g.Delta("k", "x", "x", "gates", "gates", "memory", "o", 1, 2, 4), "'x' is 8 wide, allowed 1·4"),
    (g.Delta("k", "k", "k", "gates", "gates", "memory", "o", 1, 2, 4), "values are 4 wide, allowed 2·4"),
    (g.Delta("wide", "wide", "x", "gates", "gates", "memory", "o", 4, 2, 4), "2 value heads, allowed a multiple of 4"),
    (g.Delta("k", "k", "x", "k", "gates", "memory", "o", 1, 2, 4), "'k' is 3x4, allowed 3x2"),
    (g.Delta("k", "k", "x", "gates", "k", "memory", "o", 1, 2, 4), "'k' is 3x4, allowed 3x2"),
    (g.Delta("k", "k", "x", "gates", "gates", "keys", "o", 1, 2, 4), "memory of 128 values, allowed 32"),
    (moe(router=Router(SOFTMAX, 4, 0, True)), "0 experts a row, allowed 1 to 4"),
    (moe(router=Router(SOFTMAX, 4, 5, True)), "5 experts a row, allowed 1 to 4"),
    (moe(router=Router(SOFTMAX, 4, 2, True, 1.0, 3)), "3 groups, allowed a divisor of 4 experts"),
    (moe(router=Router(SOFTMAX, 4, 2, True, 1.0, 2, 3)), "3 groups used, allowed 1 to 2"),
    (moe(router=Router(SOFTMAX, 4, 3, True, 1.0, 2, 1)), "3 experts a row, allowed at most 2"),
    (moe(router_w="router_values"), "'router_values' is f32 values, allowed rows"),
    (moe(router_f32=True), "'router' is rows, allowed f32 values"),
    (moe(router_w="w"), "'w' is 5x8, allowed 4x8"),
    (moe(router_bias="five"), "'five' has 5 values, allowed 4"),
    (moe(choice_bias="five"), "'five' has 5 values, allowed 4"),
    (moe(up_bias="down_biases"), "'down_biases' has 32 values, allowed 4·6"),
    (moe(down_bias="gate_biases"), "'gate_biases' has 24 values, allowed 4·8"),
    (moe(act=UnaryOp.GELU, clamp=Clamp(7.0, 1.7)), "a clamped unit of gelu, allowed silu"),
    (moe(shared_gate="w"), "a part of the shared experts, allowed gate, up and down"),
    (moe(shared_score="eight"), "a score of shared experts that are not there"),
    (moe(**SHARED | {"shared_up": "table"}), "'table' is 20x8, allowed 5x8"),
    (moe(**SHARED | {"shared_down": "w"}), "'w' is 5x8, allowed 8x5"),
    (moe(**SHARED, shared_score="five"), "'five' has 5 values, allowed 8"),
    (moe(gate="w"), "'w' is 5x8, allowed 4·n x 8"),
    (moe(up="down"), "'down' is 32x6, allowed 4·n x 8"),
    (moe(down="experts"), "'experts' is 24x8, allowed 32x6"),
    (g.ArgMax("x", "token", "pos", 0), "advance of 0 rows, allowed 1 or more"),
)


def test_every_op_infers_and_rejects_something() -> None:
    assert {type(op) for op, _ in INFERRED} == set(OPS)
    assert {type(op) for op, _ in REJECTED} == set(OPS)


@pytest.mark.parametrize(("op", "shape"), INFERRED, ids=lambda v: v.kind if isinstance(v, Op) else "")
def test_infers(op: Op, shape: tuple[int, int] | None) -> None:
    assert op.infer(TENSORS) == shape


@pytest.mark.parametrize(("op", "why"), REJECTED, ids=lambda v: v.kind if isinstance(v, Op) else v)
def test_rejects(op: Op, why: str) -> None:
    with pytest.raises(GraphError) as caught:
        op.infer(TENSORS)
    assert str(caught.value).startswith(f"graph: op '{op.kind}' writing {op.written()[0]}")
    assert why in str(caught.value)


def test_reads_and_writes_derive_from_the_fields() -> None:
    assert attention(sinks="four").read() == ("x", "keys", "values", "pos", "four")
    assert attention().read() == ("x", "keys", "values", "pos")
    assert attention().written() == ("o",)
    write = g.WriteRows("keys", "k", "pos")
    assert write.read() == ("k", "pos", "keys")
    assert write.written() == ("keys",)


def test_kinds_are_distinct() -> None:
    assert len({op.kind for op in OPS}) == len(OPS)
