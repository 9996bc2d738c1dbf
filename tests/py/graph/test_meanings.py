"""Each op's float64 meaning against its formula written out element by element.

The two sum the same float64 terms in different orders, so they differ by rounding alone: some ε·terms of a value, 1e-13
for the sizes here.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from lane.graph import ops as g
from lane.graph.ops import Op
from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import BinaryOp, UnaryOp
from lane.launch.meaning.mixture import Clamp, Router, RouterScore, route

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


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("rows_in", [False, True])
def test_head_product_multiplies_each_head_by_its_own_matrix(rows_in: bool, shared: bool) -> None:
    heads, a, b = 2, 3, 4
    x, w = drawn(2, a if shared else heads * a), drawn(heads, b, a)
    wanted = np.zeros((2, heads * b))
    for r in range(2):
        for h in range(heads):
            for j in range(b):
                wanted[r, h * b + j] = sum(x[r, i if shared else h * a + i] * w[h, j, i] for i in range(a))
    stored = np.concatenate([w[h].T if rows_in else w[h] for h in range(heads)])
    op = g.HeadMatMul("x", "w", "o", heads, a, b, rows_in, shared)
    np.testing.assert_allclose(result(op, x=x, w=stored), wanted, **CLOSE)


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


def test_attention_with_values_inside_the_keys_a_split_and_a_gate() -> None:
    """4 query heads over 2 groups; a head's values are values 1 and 2 of its key; all heads share the second part."""
    rows, heads, kv_heads, hd, vd, rest, pos, scale = 2, 4, 2, 4, 2, 3, 3, 0.6
    q, keys = drawn(rows, heads * hd), drawn(8, kv_heads * hd)
    q_rest, latent, gate = drawn(rows, heads * rest), drawn(8, rest + 2), drawn(rows, heads * vd)
    wanted = np.zeros((rows, heads * vd))
    for r in range(rows):
        for h in range(heads):
            at, scores = h // (heads // kv_heads) * hd, {}
            for p in range(pos + r + 1):
                s = sum(q[r, h * hd + i] * keys[p, at + i] for i in range(hd))
                scores[p] = scale * (s + sum(q_rest[r, h * rest + i] * latent[p, 2 + i] for i in range(rest)))
            total = sum(math.exp(s) for s in scores.values())
            for i in range(vd):
                out = sum(math.exp(s) * keys[p, at + 1 + i] for p, s in scores.items()) / total
                wanted[r, h * vd + i] = out * sigmoid(gate[r, h * vd + i])
    own = {"value_start": 1, "q_rest": "qr", "keys_rest": "l", "rest": rest, "rest_start": 2, "gate": "g"}
    op = g.Attention("q", "k", "k", "p", None, "o", heads, kv_heads, hd, vd, scale, **own)  # type: ignore[arg-type]
    found = result(op, q=q, k=keys, p=np.array([[pos]]), qr=q_rest, l=latent, g=gate)
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


# --- recurrent --------------------------------------------------------------------------------------------------------


def test_convolution_sees_the_last_taps_whatever_the_steps() -> None:
    """9 rows of 2 channels under 3 taps, in steps of 1, 5, 2 and 1 rows; what the ring held before is not seen."""
    x, w, taps = drawn(9, 2), drawn(2, 3), 3
    wanted = np.zeros((9, 2))
    for p in range(9):
        for c in range(2):
            wanted[p, c] = sum(w[c, t] * x[p - taps + 1 + t, c] for t in range(taps) if p - taps + 1 + t >= 0)
    arrays, found, at = {"w": w, "ring": np.full((3, 2), 7.0)}, [], 0
    for rows in (1, 5, 2, 1):
        arrays |= {"x": x[at : at + rows], "p": np.array([[at]])}
        g.Conv("x", "w", "ring", "p", "o", taps).compute(arrays)
        found.append(arrays["o"])
        at += rows
    np.testing.assert_allclose(np.concatenate(found), wanted, **CLOSE)


def test_decay() -> None:
    a, dt, al = drawn(3, 2), drawn(1, 2), -np.abs(drawn(1, 2))
    wanted = [[(1 + math.exp(a[r, h] + dt[0, h])) ** al[0, h] for h in range(2)] for r in range(3)]
    np.testing.assert_allclose(result(g.Decay("a", "dt", "al", "o"), a=a, dt=dt, al=al), wanted, **CLOSE)


@pytest.mark.parametrize("tiled", [False, True])
def test_delta_rule(tiled: bool) -> None:
    """4 value heads over 2 key heads of 3 values, 4 rows in two steps; the memory written out entry by entry."""
    rows, key_heads, heads, d = 4, 2, 4, 3
    q, k, v = drawn(rows, key_heads * d), drawn(rows, key_heads * d), drawn(rows, heads * d)
    gate, beta, memory = np.exp(-np.abs(drawn(rows, heads))), drawn(rows, heads), drawn(heads, d, d)
    kept, wanted = memory.copy(), np.zeros((rows, heads * d))
    for r in range(rows):
        for h in range(heads):
            at = (h % key_heads if tiled else h // 2) * d
            for j in range(d):
                seen = sum(gate[r, h] * kept[h, i, j] * k[r, at + i] for i in range(d))
                u = beta[r, h] * (v[r, h * d + j] - seen)
                for i in range(d):
                    kept[h, i, j] = gate[r, h] * kept[h, i, j] + k[r, at + i] * u
                wanted[r, h * d + j] = sum(kept[h, i, j] * q[r, at + i] for i in range(d))
    arrays, found = {"s": memory.reshape(1, -1).copy()}, []
    for first, end in ((0, 1), (1, 4)):
        inputs = {"q": q, "k": k, "v": v, "g": gate, "b": beta}
        arrays |= {name: array[first:end] for name, array in inputs.items()}
        g.Delta("q", "k", "v", "g", "b", "s", "o", key_heads, heads, d, tiled).compute(arrays)
        found.append(arrays["o"])
    np.testing.assert_allclose(np.concatenate(found), wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(arrays["s"].reshape(heads, d, d), kept, rtol=1e-12, atol=1e-12)


# --- mixtures ---------------------------------------------------------------------------------------------------------

WIDTH, HIDDEN = 5, 3
SOFTMAX, SIGMOID = RouterScore.SOFTMAX, RouterScore.SIGMOID

MIXTURES: tuple[tuple[Router, dict[str, object]], ...] = (
    (Router(SOFTMAX, 4, 2, renormalise=False), {}),
    (Router(SOFTMAX, 4, 2, renormalise=True, scale=2.5), {"router_f32": True}),
    (Router(SIGMOID, 4, 3, renormalise=True), {"choice_bias": "cb", "router_bias": "rb"}),
    (Router(SIGMOID, 8, 3, renormalise=False, groups=4, groups_used=2), {"choice_bias": "cb"}),
    (Router(SOFTMAX, 8, 2, renormalise=False, groups=4, groups_used=1, group_best=1), {}),
    (Router(SOFTMAX, 4, 1, renormalise=False), {"gate_bias": "gb", "up_bias": "ub", "down_bias": "db"}),
    (Router(SOFTMAX, 4, 2, renormalise=True), {"clamp": Clamp(0.8, 1.7)}),
    (Router(SOFTMAX, 4, 2, renormalise=True), {"act": UnaryOp.GELU}),
    (Router(SOFTMAX, 4, 2, renormalise=True), {"shared_gate": "sg", "shared_up": "su", "shared_down": "sd"}),
    (
        Router(SOFTMAX, 4, 2, renormalise=True),
        {"shared_gate": "sg", "shared_up": "su", "shared_down": "sd", "shared_score": "ss"},
    ),
)


def chosen_by(router: Router, wanted: list[float]) -> list[int]:
    """The choice, written out: the best groups first, then the best experts of those."""
    size = router.experts // router.groups
    groups = [wanted[i : i + size] for i in range(0, router.experts, size)]
    sums = [sum(sorted(group)[-router.group_best :]) for group in groups]
    best = sorted(range(router.groups), key=lambda i: -sums[i])[: router.groups_used]
    allowed = range(router.experts) if router.groups == 1 else [e for e in range(router.experts) if e // size in best]
    return sorted(allowed, key=lambda e: -wanted[e])[: router.k]


def unit(x: F64, weights: tuple[F64, F64, F64], biases: tuple[F64, F64, F64], how: dict[str, object]) -> F64:
    """One gated unit for one row, written out."""
    gate, up, down = weights
    hidden = []
    for j in range(len(gate)):
        a = sum(x[i] * gate[j, i] for i in range(len(x))) + biases[0][j]
        b = sum(x[i] * up[j, i] for i in range(len(x))) + biases[1][j]
        clamp = how.get("clamp")
        if isinstance(clamp, Clamp):
            a, b = min(a, clamp.limit), max(-clamp.limit, min(b, clamp.limit))
            hidden.append(a * sigmoid(clamp.slope * a) * (b + 1))
        else:
            hidden.append(UNARY[how.get("act", UnaryOp.SILU)](a) * b)  # type: ignore[index]
    return np.array([sum(h * w for h, w in zip(hidden, row, strict=True)) for row in down]) + biases[2]


@pytest.mark.parametrize(("router", "own"), MIXTURES, ids=[" ".join(own) or "plain" for _, own in MIXTURES])
def test_mixture(router: Router, own: dict[str, object]) -> None:
    n, rows = router.experts, 4
    arrays = {
        "x": drawn(rows, WIDTH), "r": drawn(n, WIDTH), "rb": drawn(1, n), "cb": drawn(1, n),
        "g": drawn(n * HIDDEN, WIDTH), "u": drawn(n * HIDDEN, WIDTH), "d": drawn(n * WIDTH, HIDDEN),
        "gb": drawn(n, HIDDEN), "ub": drawn(n, HIDDEN), "db": drawn(n, WIDTH),
        "sg": drawn(6, WIDTH), "su": drawn(6, WIDTH), "sd": drawn(WIDTH, 6), "ss": drawn(1, WIDTH),
    }  # fmt: skip
    none = {name: np.zeros_like(arrays[name]) for name in ("gb", "ub", "db")}
    biases = arrays if "gate_bias" in own else none
    wanted = np.zeros((rows, WIDTH))
    for r in range(rows):
        x = arrays["x"][r]
        logits = [float(x @ arrays["r"][e]) + ("router_bias" in own) * arrays["rb"][0, e] for e in range(n)]
        total = sum(math.exp(v) for v in logits)
        scores = [sigmoid(v) if router.score is SIGMOID else math.exp(v) / total for v in logits]
        picks = chosen_by(router, [s + ("choice_bias" in own) * arrays["cb"][0, e] for e, s in enumerate(scores)])
        over = sum(scores[e] for e in picks) if router.renormalise else 1.0
        for e in picks:
            h, w = slice(e * HIDDEN, (e + 1) * HIDDEN), slice(e * WIDTH, (e + 1) * WIDTH)
            weights = arrays["g"][h], arrays["u"][h], arrays["d"][w]
            wanted[r] += router.scale * scores[e] / over * unit(
                x, weights, (biases["gb"][e], biases["ub"][e], biases["db"][e]), own
            )  # fmt: skip
        if "shared_gate" in own:
            zero = np.zeros(6), np.zeros(6), np.zeros(WIDTH)
            shared = unit(x, (arrays["sg"], arrays["su"], arrays["sd"]), zero, own)
            wanted[r] += shared * (sigmoid(float(x @ arrays["ss"][0])) if "shared_score" in own else 1.0)
    if "router_f32" in own:
        arrays["r"] = arrays["r"].T
    fields = {"choice_bias": None} | own
    op = g.Moe("x", "r", gate="g", up="u", down="d", out="o", router=router, **fields)  # type: ignore[arg-type]
    np.testing.assert_allclose(result(op, **arrays), wanted, rtol=1e-12, atol=1e-12)


def test_of_equal_scores_the_lowest_expert_is_chosen() -> None:
    chosen, weights = route(np.zeros((1, 6)), None, Router(SOFTMAX, 6, 2, renormalise=True))
    assert chosen.tolist() == [[0, 1]]
    np.testing.assert_allclose(weights, [[0.5, 0.5]], **CLOSE)
