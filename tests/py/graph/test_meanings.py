"""Each op's float64 meaning against its formula written out element by element.

The two sum the same float64 terms in different orders, so they differ by rounding alone: some ε·terms of a value, 1e-13
for the sizes here.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from lane.errors import UnsupportedError
from lane.graph import ops as g
from lane.graph.ops import Op
from lane.launch.attention import RopeLayout
from lane.launch.elementwise import BinaryOp, UnaryOp

F64 = npt.NDArray[np.float64]
CLOSE = {"rtol": 1e-13, "atol": 1e-13}
RANDOM = np.random.default_rng(7)


def drawn(*shape: int) -> F64:
    return RANDOM.standard_normal(shape)


def result(op: Op, **arrays: npt.NDArray[np.generic]) -> F64:
    """What an op that writes `o` computes from arrays by tensor name."""
    kept = {name: np.array(array) for name, array in arrays.items()}
    op.compute(kept)
    return np.asarray(kept["o"])


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def test_gather_scales_the_named_rows() -> None:
    table = drawn(5, 3)
    found = result(g.Gather("t", "i", "o", 2, 1.5), t=table, i=np.array([[4, 0, 2]]))
    np.testing.assert_array_equal(found, np.stack([table[4], table[0]]) * 1.5)


def test_rows_are_read_and_written_where_they_are_named() -> None:
    x = drawn(4, 3)
    np.testing.assert_array_equal(result(g.ReadRow("x", "o", 2), x=x), x[2:3])
    for op, first in ((g.WriteRows("t", "s", "p"), 3), (g.WriteRows("t", "s", None, 1), 1)):
        arrays = {"t": np.zeros((6, 3)), "s": x[:2], "p": np.array([[3]])}
        op.compute(arrays)
        wanted = np.zeros((6, 3))
        wanted[first], wanted[first + 1] = x[0], x[1]
        np.testing.assert_array_equal(arrays["t"], wanted)


def test_slice_packs_a_part_of_every_group() -> None:
    x = np.arange(12.0).reshape(1, 12)
    np.testing.assert_array_equal(result(g.Slice("x", "o", 4, 1, 2), x=x), [[1, 2, 5, 6, 9, 10]])


def test_join_alternates_units() -> None:
    a, b = np.arange(4.0).reshape(1, 4), np.arange(10.0, 16.0).reshape(1, 6)
    np.testing.assert_array_equal(result(g.Join("a", "b", "o", 2, 3), a=a, b=b), [[0, 1, 10, 11, 12, 2, 3, 13, 14, 15]])


def test_products_are_sums_of_products() -> None:
    x, w, bias = drawn(3, 5), drawn(4, 5), drawn(1, 4)
    wanted = np.array([[sum(x[r, k] * w[n, k] for k in range(5)) for n in range(4)] for r in range(3)])
    np.testing.assert_allclose(result(g.MatMul("x", "w", "o"), x=x, w=w), wanted, **CLOSE)
    np.testing.assert_allclose(result(g.MatMul("x", "w", "o", "b"), x=x, w=w, b=bias), wanted + bias, **CLOSE)
    np.testing.assert_allclose(result(g.MatMulValues("x", "w", "o"), x=x, w=w.T), wanted, **CLOSE)
    np.testing.assert_allclose(result(g.MatMulValues("x", "w", "o", "b"), x=x, w=w.T, b=bias), wanted + bias, **CLOSE)


def test_head_product_multiplies_each_head_by_its_own_matrix() -> None:
    heads, a, b = 2, 3, 4
    x, w = drawn(2, heads * a), drawn(heads * b, a)
    wanted = np.zeros((2, heads * b))
    for r in range(2):
        for h in range(heads):
            for j in range(b):
                wanted[r, h * b + j] = sum(x[r, h * a + i] * w[h * b + j, i] for i in range(a))
    np.testing.assert_allclose(result(g.HeadMatMul("x", "w", "o", heads, a, b), x=x, w=w), wanted, **CLOSE)


def test_norms() -> None:
    x, w, bias, eps = drawn(2, 6), drawn(1, 3), drawn(1, 3), 0.1
    rms, layer, l2 = np.zeros((2, 6)), np.zeros((2, 6)), np.zeros((2, 6))
    for r in range(2):
        for u in (0, 3):
            unit = [float(v) for v in x[r, u : u + 3]]
            squares, mean = sum(v * v for v in unit), sum(unit) / 3
            variance = sum((v - mean) ** 2 for v in unit) / 3
            for i, v in enumerate(unit):
                rms[r, u + i] = v / math.sqrt(squares / 3 + eps) * w[0, i]
                layer[r, u + i] = (v - mean) / math.sqrt(variance + eps) * w[0, i] + bias[0, i]
                l2[r, u + i] = v / math.sqrt(squares + eps)
    np.testing.assert_allclose(result(g.RmsNorm("x", "w", "o", 3, eps), x=x, w=w), rms, **CLOSE)
    np.testing.assert_allclose(
        result(g.RmsNorm("x", None, "o", 3, eps), x=x), rms / np.tile(w, 2), rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(result(g.LayerNorm("x", "w", "b", "o", 3, eps), x=x, w=w, b=bias), layer, **CLOSE)
    np.testing.assert_allclose(
        result(g.LayerNorm("x", "w", None, "o", 3, eps), x=x, w=w), layer - np.tile(bias, 2), **CLOSE
    )
    np.testing.assert_allclose(result(g.L2Norm("x", "o", 3, eps), x=x), l2, **CLOSE)


def test_binary_broadcasts_one_row() -> None:
    a, b, row = drawn(2, 3), drawn(2, 3), drawn(1, 3)
    for op, apply in ((BinaryOp.ADD, lambda p, q: p + q), (BinaryOp.MUL, lambda p, q: p * q)):
        for second in (b, row):
            wanted = [[apply(a[r, c], second[r % len(second), c]) for c in range(3)] for r in range(2)]
            np.testing.assert_array_equal(result(g.Binary(op, "a", "b", "o"), a=a, b=second), wanted)


def test_scale() -> None:
    x = drawn(2, 3)
    np.testing.assert_array_equal(result(g.Scale("x", "o", -0.25), x=x), x * -0.25)


UNARY = {
    UnaryOp.SILU: lambda x: x * sigmoid(x),
    UnaryOp.SIGMOID: sigmoid,
    UnaryOp.GELU: lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    UnaryOp.SOFTPLUS: lambda x: math.log1p(math.exp(x)),
    UnaryOp.TANH: math.tanh,
    UnaryOp.SOFT_CAP: lambda x: 2.5 * math.tanh(x / 2.5),
}


@pytest.mark.parametrize("op", UnaryOp)
def test_unary(op: UnaryOp) -> None:
    x = np.concatenate([drawn(1, 20) * 4, [[0.0, -20.0, 20.0]]], axis=1)
    wanted = [[UNARY[op](float(v)) for v in x[0]]]
    np.testing.assert_allclose(result(g.Unary(op, "x", "o", 2.5), x=x), wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("op", UnaryOp)
def test_unary_stays_finite_far_out(op: UnaryOp) -> None:
    """No exponential of a large number: the limits come out as such."""
    found = result(g.Unary(op, "x", "o", 2.5), x=np.array([[-1e4, 1e4]]))
    assert np.isfinite(found).all()


def test_gated_units() -> None:
    gate, up = drawn(2, 3) * 4, drawn(2, 3) * 4
    wanted = [[gate[r, c] * sigmoid(gate[r, c]) * up[r, c] for c in range(3)] for r in range(2)]
    np.testing.assert_allclose(result(g.SwiGlu("g", "u", "o"), g=gate, u=up), wanted, **CLOSE)
    limit, slope = 3.0, 1.7
    clamped = np.zeros((2, 3))
    for r in range(2):
        for c in range(3):
            a, b = min(gate[r, c], limit), max(-limit, min(up[r, c], limit))
            clamped[r, c] = a * sigmoid(slope * a) * (b + 1)
    np.testing.assert_allclose(result(g.ClampedSwiGlu("g", "u", "o", limit, slope), g=gate, u=up), clamped, **CLOSE)


@pytest.mark.parametrize("layout", RopeLayout)
def test_rotation_turns_pairs_by_their_angle(layout: RopeLayout) -> None:
    """Heads of 5 values, of which 4 turn: as complex numbers multiplied by e^(iθ); the fifth stays."""
    x, angles, pos = drawn(2, 10), drawn(6, 2), 3
    wanted = x.copy()
    for r in range(2):
        for h in (0, 5):
            for i in range(2):
                a, b = (h + i, h + i + 2) if layout is RopeLayout.SPLIT else (h + 2 * i, h + 2 * i + 1)
                theta = angles[pos + r, i]
                turned = complex(x[r, a], x[r, b]) * complex(math.cos(theta), math.sin(theta))
                wanted[r, a], wanted[r, b] = turned.real, turned.imag
    op = g.Rotate("x", "c", "s", "p", "o", 5, layout)
    found = result(op, x=x, c=np.cos(angles), s=np.sin(angles), p=np.array([[pos]]))
    np.testing.assert_allclose(found, wanted, **CLOSE)


@pytest.mark.parametrize(
    ("window", "cap", "sinks"), [(0, 0.0, False), (3, 0.0, False), (0, 2.0, False), (2, 1.5, True), (0, 0.0, True)]
)
def test_attention(window: int, cap: float, sinks: bool) -> None:
    """4 query heads over 2 key/value heads, keys of 3 values and values of 2, two rows at position 4."""
    rows, heads, kv_heads, hd, vd, pos, scale = 2, 4, 2, 3, 2, 4, 0.6
    q, keys, values, sink = drawn(rows, heads * hd), drawn(8, kv_heads * hd), drawn(8, kv_heads * vd), drawn(1, heads)
    wanted = np.zeros((rows, heads * vd))
    for r in range(rows):
        for h in range(heads):
            group, scores = h // (heads // kv_heads), {}
            for p in range(8):
                distance = pos + r - p
                if distance < 0 or (window and distance >= window):
                    continue
                s = scale * sum(q[r, h * hd + i] * keys[p, group * hd + i] for i in range(hd))
                scores[p] = cap * math.tanh(s / cap) if cap else s
            total = sum(math.exp(s) for s in scores.values()) + (math.exp(sink[0, h]) if sinks else 0.0)
            for i in range(vd):
                summed = sum(math.exp(s) * values[p, group * vd + i] for p, s in scores.items())
                wanted[r, h * vd + i] = summed / total
    op = g.Attention("q", "k", "v", "p", "s" if sinks else None, "o", heads, kv_heads, hd, vd, scale, window, cap)
    found = result(op, q=q, k=keys, v=values, p=np.array([[pos]]), s=sink)
    np.testing.assert_allclose(found, wanted, **CLOSE)


def test_attention_of_huge_scores_is_finite() -> None:
    op = g.Attention("q", "k", "v", "p", None, "o", 1, 1, 1, 1, 1.0)
    found = result(op, q=np.array([[1.0]]), k=np.array([[1e5], [-1e5]]), v=np.array([[3.0], [4.0]]), p=np.array([[1]]))
    np.testing.assert_array_equal(found, [[3.0]])


def test_arg_max_takes_the_lowest_of_equals_and_never_a_nan() -> None:
    for row, wanted in (
        ([1, 5, 5], 1),
        ([np.nan, 2, 3], 2),
        ([np.nan] * 3, 0),
        ([-np.inf] * 3, 0),
        ([0, np.inf, 1], 1),
    ):
        arrays = {"x": np.array([[9.0, 0.0, 0.0], row], float), "t": np.array([[7]]), "p": np.array([[4]])}
        g.ArgMax("x", "t", "p", 2).compute(arrays)
        assert arrays["t"][0, 0] == wanted
        assert arrays["p"][0, 0] == 6


ROUTER = g.Router(g.RouterScore.SIGMOID, 4, 2, False)


@pytest.mark.parametrize(
    "op",
    [
        g.Conv("x", "w", "r", "p", "o", 4),
        g.Decay("x", "dt", "al", "o"),
        g.Delta("q", "k", "v", "g", "b", "s", "o", 1, 1, 4),
        g.Moe("x", "r", None, "g", "u", "d", "o", ROUTER),
    ],
    ids=lambda op: op.kind,
)
def test_an_op_without_a_meaning_says_so(op: Op) -> None:
    with pytest.raises(UnsupportedError, match=f"op '{op.kind}' has no float64 meaning yet"):
        op.compute({})
