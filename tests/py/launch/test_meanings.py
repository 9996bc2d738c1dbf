"""What a launch with options computes is what launches without them compute one after the other.

Arrays are float64, so that nothing is rounded in between; what is left is the order of a few sums, 1e-12 relative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from lane.launch.attention import Attention, OutputGate, Rope, RopeParts, RopeSide, SplitKeys
from lane.launch.data import Gather, Join, SetRow, Slice
from lane.launch.elementwise import Binary, Scale, SwiGlu, Unary
from lane.launch.fields import DestMode, QuantStore
from lane.launch.fold import Fold
from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import BinaryOp, UnaryOp
from lane.launch.norm import Norm
from lane.launch.projection import GemmPart, GemmParts, Gemv, GemvF32, GemvGlu, HeadGemv, Quant, UpTo
from lane.launch.record import Dest, Launch, Part
from lane.launch.step import ArgMax, Generated
from tests.py.launch.arrays import Array, Arrays

ROWS, HEADS, HD, WIDE = 3, 4, 8, 20  # heads of 8 values, at places 20 apart in a wider tensor
N = ROWS * HEADS * HD
LENGTH, AT = 7, 2  # rows of a cache, and the position of row 0
PART = Part(WIDE, 5)
BESIDE = QuantStore.BESIDE


def arrays(seed: int = 0, **extra: Array) -> dict[str, Array]:
    """Activations a, b, c of N values, one of wider units, outputs, a cache, tables, a position."""
    rng = np.random.default_rng(seed)
    angles = rng.uniform(-3, 3, (LENGTH, HD // 2))
    return {
        **{name: rng.normal(size=N) for name in "abc"},
        **{name: np.full(N, np.nan) for name in ("x", "y", "z", "out", "sum")},
        "wide": rng.normal(size=ROWS * HEADS * WIDE),
        "cache": rng.normal(size=LENGTH * 2 * HEADS * HD),
        "w": rng.normal(size=HEADS * HD),
        "v": rng.normal(size=HEADS * HD),
        "cos": np.cos(angles),
        "sin": np.sin(angles),
        "pos": np.array([AT], np.int32),
        **extra,
    }


MATRICES = {name: np.random.default_rng(5).normal(size=(32, 32)) for name in ("m", "n")}


def check(fused: Sequence[Launch], parts: Sequence[Launch], *names: str, **extra: Array) -> None:
    """Both give the same in the arrays named, and in the quantised forms that both make."""
    one, other = (Arrays(arrays(**extra), MATRICES).run(launches) for launches in (fused, parts))
    for name in names:
        assert not np.isnan(one.plain(name)).all()
        np.testing.assert_allclose(one.plain(name), other.plain(name), rtol=1e-12, atol=1e-12)
    for name in one.quantised_names():
        np.testing.assert_allclose(one.quantised(name), other.quantised(name), rtol=1e-6)


# --- norms ------------------------------------------------------------------------------------------------------------

NORM = Norm("a", "w", None, "out", ROWS, HEADS * HD, 1e-3)
ADD = Binary(BinaryOp.ADD, "a", "b", "x", N, N)


def test_a_norm_of_a_sum_that_is_kept() -> None:
    check([replace(NORM, add="b", sum="sum")], [ADD, Scale("x", "sum", N, 1.0), replace(NORM, x="x")], "out", "sum")


def test_a_sandwich_norm() -> None:
    first = Norm("b", "v", None, "y", ROWS, HEADS * HD, 1e-3)
    check([replace(NORM, add="b", pre="v")], [first, replace(ADD, b="y"), replace(NORM, x="x")], "out")


def test_a_norm_of_parts_lands_in_parts() -> None:
    """Heads out of wider units, normed, to where others of wider units lie."""
    unit = Norm("x", "w", None, "y", ROWS * HEADS, HD, 1e-3)
    fused = replace(unit, x="wide", part=PART, out=None, into=Dest("taken", DestMode.PART, pitch=12, offset=3))
    taken = np.zeros((ROWS * HEADS, 12))
    one = Arrays(arrays(taken=taken)).run([fused])
    other = Arrays(arrays()).run([Slice("wide", "x", ROWS * HEADS, WIDE, 5, HD), unit])
    taken[:, 3 : 3 + HD] = other.plain("y").reshape(-1, HD)
    np.testing.assert_allclose(one.plain("taken"), taken.reshape(-1), rtol=1e-12)


def test_a_norm_lands_in_rows_and_its_quantised_form_stays() -> None:
    cols = HEADS * HD
    into = Dest("cache", DestMode.ROWS, index="pos", pitch=cols)
    fused = replace(NORM, into=into, store_quant=QuantStore.ALONE)
    parts = [NORM, SetRow("cache", "pos", "out", cols, ROWS), Quant("out", "out", N)]
    check([fused], parts, "cache")


@pytest.mark.parametrize("launch", [NORM, ADD, Scale("a", "x", N, 2.0), Unary(UnaryOp.SILU, "a", "x", N)], ids=str)
def test_a_quantised_store_is_a_quantiser_after(launch: Launch) -> None:
    out = "out" if isinstance(launch, Norm) else "x"
    check([replace(launch, store_quant=BESIDE)], [launch, Quant(out, out, N)], out)  # type: ignore[call-arg]


# --- elementwise ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", list(UnaryOp)[:-1], ids=lambda op: op.value)
def test_a_gate_is_an_activation_before(op: UnaryOp) -> None:
    multiply = Binary(BinaryOp.MUL, "a", "b", "x", N, N, gate=op)
    check([multiply], [Unary(op, "b", "y", N), replace(multiply, b="y", gate=None)], "x")


def test_swiglu_is_a_gated_product() -> None:
    check([SwiGlu("b", "a", "x", N)], [Binary(BinaryOp.MUL, "a", "b", "x", N, N, gate=UnaryOp.SILU)], "x")


# --- projections ------------------------------------------------------------------------------------------------------

GEMV = Gemv("a", "m", Dest("x"), 32, 32, ROWS, read_quant=False)
ROW_BIAS = Binary(BinaryOp.ADD, "x", "w", "y", ROWS * 32, 32, row=True)
INTO_ROWS = Dest("cache", DestMode.ROWS, index="pos", pitch=32)


def test_a_projection_with_its_bias_lands_in_rows() -> None:
    fused = replace(GEMV, bias="w", y=INTO_ROWS)
    check([fused], [GEMV, ROW_BIAS, SetRow("cache", "pos", "y", 32, ROWS)], "cache")


def test_how_a_projection_runs_changes_nothing() -> None:
    check([replace(GEMV, per_warp=4, batch=True)], [GEMV], "x")


def test_a_projection_stores_quantised_and_reads_it() -> None:
    again = replace(GEMV, x="x", y=Dest("z"), read_quant=True)
    check([replace(GEMV, store_quant=BESIDE), again], [GEMV, Quant("x", "x", ROWS * 32), again], "x", "z")


def test_a_projection_by_f32_values() -> None:
    values = np.random.default_rng(5).normal(size=(32, 32)).T  # the matrix m, transposed
    check([GemvF32("a", "t", Dest("x"), 32, 32, ROWS, split=4)], [GEMV], "x", t=values)


def test_projections_in_parts() -> None:
    fused = GemmParts("a", 32, ROWS, (GemmPart("m", Dest("y"), 32, bias="w"), GemmPart("n", INTO_ROWS, 32)), False)
    second = replace(GEMV, w="n", y=Dest("z"))
    check([fused], [GEMV, ROW_BIAS, second, SetRow("cache", "pos", "z", 32, ROWS)], "y", "cache")


@pytest.mark.parametrize("act", [UnaryOp.SILU, UnaryOp.GELU], ids=lambda act: act.value)
def test_a_gated_pair(act: UnaryOp) -> None:
    fused = GemvGlu("a", "m", "n", "out", 32, 32, ROWS, False, act, bg="w", store_quant=BESIDE)
    up = replace(GEMV, w="n", y=Dest("z"))
    gated = Binary(BinaryOp.MUL, "z", "y", "out", N, N, gate=act)
    check([fused], [GEMV, ROW_BIAS, up, gated, Quant("out", "out", N)], "out")


def test_per_head_products() -> None:
    """By matrix rows that are outputs, and the same matrices the other way round; parts read, parts written."""
    out = HeadGemv("a", "m", Dest("x"), ROWS, HEADS, HD, HD, rows_out=True)
    turned = np.random.default_rng(6).normal(size=(HEADS * HD, HD))
    swapped = turned.reshape(HEADS, HD, HD).transpose(0, 2, 1).reshape(HEADS * HD, HD)
    one = Arrays(arrays(), {"m": turned}).run([out])
    other = Arrays(arrays(), {"m": swapped}).run([replace(out, rows_out=False)])
    a = one.plain("a").reshape(ROWS, HEADS, HD)
    wanted = np.stack([a[:, h] @ turned.reshape(HEADS, HD, HD)[h].T for h in range(HEADS)], axis=1)
    for found in (one, other):
        np.testing.assert_allclose(found.plain("x"), wanted.reshape(-1), rtol=1e-12)
    parts = replace(out, x="wide", part=PART)
    sliced = [Slice("wide", "y", ROWS * HEADS, WIDE, 5, HD), replace(out, x="y")]
    np.testing.assert_allclose(
        Arrays(arrays(), {"m": turned}).run([parts]).plain("x"),
        Arrays(arrays(), {"m": turned}).run(sliced).plain("x"),
    )


def test_per_head_products_of_a_shared_unit_up_to_a_row() -> None:
    matrix = np.random.default_rng(6).normal(size=(HEADS * HD, HD))
    launch = HeadGemv("a", "m", Dest("x"), ROWS, HEADS, HD, HD, True, shared=True, upto=UpTo("pos", 0))
    found = Arrays(arrays(), {"m": matrix}).run([launch]).plain("x").reshape(ROWS, HEADS, HD)
    for r in range(ROWS):
        if r < AT:
            unit = arrays()["a"][r * HD : (r + 1) * HD]
            np.testing.assert_allclose(found[r].reshape(-1), matrix @ unit, rtol=1e-12)
        else:
            assert np.isnan(found[r]).all()
    assert launch.operations(AT) == 2 * AT * HEADS * HD * HD and launch.operations() == 2 * ROWS * HEADS * HD * HD


# --- rows -------------------------------------------------------------------------------------------------------------


def test_rows_are_set_at_a_fixed_row_and_quantised() -> None:
    cols = HEADS * HD
    fixed = SetRow("cache", None, "a", cols, ROWS, row=AT, store_quant=BESIDE)
    found = Arrays(arrays()).run([fixed, Quant("a", "a", N)])
    assert np.array_equal(
        found.plain("cache"), Arrays(arrays()).run([SetRow("cache", "pos", "a", cols, ROWS)]).plain("cache")
    )
    rows = found.quantised("cache").reshape(-1, cols)
    np.testing.assert_array_equal(rows[AT : AT + ROWS].reshape(-1), found.quantised("a"))
    assert np.isnan(np.delete(rows, range(AT, AT + ROWS), axis=0)).all()


def test_a_batch_sets_rows_in_tables_of_its_own() -> None:
    cols, tables, at = 4, np.zeros((ROWS, LENGTH, 4)), np.array([5, 0, 3], np.int32)
    launch = SetRow("tables", "at", "a", cols, ROWS, seq=LENGTH * cols)
    found = Arrays(arrays(tables=tables, at=at)).run([launch])
    for r in range(ROWS):
        tables[r, at[r]] = arrays()["a"][r * cols : (r + 1) * cols]
    np.testing.assert_array_equal(found.plain("tables"), tables.reshape(-1))


@pytest.mark.parametrize(
    "dest",
    [
        Dest("t"),
        Dest("t", DestMode.PART, pitch=11, offset=2),
        Dest("t", DestMode.ROWS, row=2, pitch=40, offset=3),
        Dest("t", DestMode.ROWS, index="pos", pitch=40, offset=3, every=9),
        Dest("t", DestMode.ROWS, index="at", pitch=40, offset=1, seq=300),
    ],
    ids=str,
)
def test_units_land_where_a_destination_says(dest: Dest) -> None:
    """A join of 3 and 5 values a unit, four units a row, place by place."""
    at = np.array([5, 0, 3], np.int32)
    found = Arrays(arrays(t=np.zeros(1000), at=at)).run([Join("a", "b", dest, ROWS, HEADS, 3, 5)])
    wanted, given = np.zeros(1000), arrays()
    for r in range(ROWS):
        for u in range(HEADS):
            unit = r * HEADS + u
            values = [*given["a"][unit * 3 : unit * 3 + 3], *given["b"][unit * 5 : unit * 5 + 5]]
            if dest.mode is DestMode.WHOLE:
                start = unit * 8
            elif dest.mode is DestMode.PART:
                start = unit * 11 + 2
            elif dest.seq:
                start = r * 300 + at[r] * 40 + 1 + u * 8
            else:
                start = (2 + r) * 40 + 3 + u * (dest.every or 8)
            wanted[start : start + 8] = values
    np.testing.assert_array_equal(found.plain("t"), wanted)


# --- rotations --------------------------------------------------------------------------------------------------------

ROPE = Rope("a", "cos", "sin", "pos", Dest("x"), ROWS * HEADS, HEADS, HD, HD // 2, RopeLayout.SPLIT)
HEAD_NORM = Norm("a", "w", None, "y", ROWS * HEADS, HD, 1e-3)


def test_a_rotation_of_normed_parts_lands_in_rows() -> None:
    fused = replace(ROPE, x="wide", part=PART, norm="w", eps=1e-3, y=INTO_ROWS)
    sliced = Slice("wide", "z", ROWS * HEADS, WIDE, 5, HD)
    parts = [sliced, replace(HEAD_NORM, x="z"), replace(ROPE, x="y"), SetRow("cache", "pos", "x", HEADS * HD, ROWS)]
    check([fused], parts, "cache")


def test_rotations_as_one_launch() -> None:
    sides = (RopeSide("a", Dest("x"), ROWS * HEADS, HEADS, norm="w"), RopeSide("b", Dest("z"), ROWS * 2, 2))
    fused = RopeParts(sides, "cos", "sin", "pos", HD, HD // 2, RopeLayout.SPLIT, 1e-3)
    keys = replace(ROPE, x="b", y=Dest("z"), heads=ROWS * 2, per_row=2)
    check([fused], [HEAD_NORM, replace(ROPE, x="y"), keys], "x", "z")


def test_a_batch_turns_each_row_at_its_own_position() -> None:
    at, width = np.array([5, 0, 3], np.int32), HEADS * HD
    found = Arrays(arrays(at=at)).run([replace(ROPE, pos="at", batch=True)]).plain("x").reshape(ROWS, width)
    for r in range(ROWS):
        row = {"a": arrays()["a"][r * width : (r + 1) * width], "pos": at[r : r + 1], "x": np.zeros(width)}
        alone = Arrays({**arrays(), **row}).run([replace(ROPE, heads=HEADS)]).plain("x")
        np.testing.assert_array_equal(found[r], alone)


# --- attention --------------------------------------------------------------------------------------------------------

KV = 2
CACHES = {name: np.random.default_rng(i).normal(size=LENGTH * KV * HD) for i, name in enumerate(("k", "kv"))}
ATTENTION = Attention(
    "a", "k", "kv", "pos", None, "out", ROWS, HEADS, HEADS // KV, HD, HD, LENGTH, 0.3, window=3, cap=5.0
)


def test_values_are_read_in_place_inside_wider_rows() -> None:
    wide = np.random.default_rng(8).normal(size=(LENGTH, 30))
    inside = wide[:, 9 : 9 + KV * HD]
    fused = replace(ATTENTION, vc="rows", vstride=30, voff=9)
    check([fused], [replace(ATTENTION, vc="values")], "out", rows=wide, values=inside, **CACHES)


def test_queries_are_read_in_parts() -> None:
    sliced = [Slice("wide", "y", ROWS * HEADS, WIDE, 5, HD), replace(ATTENTION, q="y")]
    check([replace(ATTENTION, q="wide", part=PART)], sliced, "out", **CACHES)


def test_split_queries_and_keys_are_joined_ones() -> None:
    """Heads of 8 and 4 values are heads of 12 whose keys' last 4 are the row's own, for all heads."""
    rng = np.random.default_rng(9)
    second, rest = rng.normal(size=(ROWS * HEADS, 4)), rng.normal(size=(LENGTH, 10))
    q = np.concatenate([arrays()["a"].reshape(-1, HD), second], axis=1)
    keys = CACHES["k"].reshape(LENGTH, KV, HD)
    shared = np.broadcast_to(rest[:, None, 3:7], (LENGTH, KV, 4))
    extra = {"second": second, "rest": rest, "q": q, "joined": np.concatenate([keys, shared], axis=2), **CACHES}
    fused = replace(ATTENTION, split=SplitKeys("second", "rest", 4, 10, 3))
    check([fused], [replace(ATTENTION, q="q", kc="joined", hd=HD + 4)], "out", **extra)
    assert fused.operations(0) == replace(ATTENTION, hd=HD + 4).operations(0)


def test_an_output_gate_is_a_gated_product_after() -> None:
    fused = replace(ATTENTION, gate=OutputGate("wide", UnaryOp.SIGMOID, PART), store_quant=BESIDE)
    sliced = Slice("wide", "y", ROWS * HEADS, WIDE, 5, HD)
    gated = Binary(BinaryOp.MUL, "x", "y", "out", N, N, gate=UnaryOp.SIGMOID)
    check([fused], [replace(ATTENTION, out="x"), sliced, gated, Quant("out", "out", N)], "out", **CACHES)


def test_a_batch_attends_to_caches_of_its_own() -> None:
    rng, at, width = np.random.default_rng(10), np.array([5, 0, 3], np.int32), HEADS * HD
    each = LENGTH * KV * HD
    caches = {name: rng.normal(size=ROWS * each) for name in ("k", "kv")}
    found = Arrays(arrays(at=at, **caches)).run([replace(ATTENTION, pos="at", seq=each)]).plain("out")
    for r in range(ROWS):
        row = {"a": arrays()["a"][r * width : (r + 1) * width], "pos": at[r : r + 1], "out": np.zeros(width)}
        own = {name: cache[r * each : (r + 1) * each] for name, cache in caches.items()}
        alone = Arrays({**arrays(), **row, **own}).run([replace(ATTENTION, rows=1)]).plain("out")
        np.testing.assert_allclose(found[r * width : (r + 1) * width], alone, rtol=1e-12)


def test_how_attention_runs_changes_nothing() -> None:
    fused = replace(ATTENTION, per_block=2, splits=3, parallel=True, shared=4)
    check([fused], [ATTENTION], "out", **CACHES)


def test_a_cache_in_16_bits_is_read_widened_and_written_rounded() -> None:
    halves = {name: cache.astype(np.float16) for name, cache in CACHES.items()}
    check(
        [ATTENTION],
        [replace(ATTENTION, kc="k2", vc="v2")],
        "out",
        **halves,
        k2=halves["k"].astype(np.float64),
        v2=halves["kv"].astype(np.float64),
    )
    cols = KV * HD
    found = Arrays(arrays(**halves)).run([SetRow("k", "pos", "a", cols, ROWS)]).plain("k").reshape(LENGTH, cols)
    wanted = arrays()["a"][: ROWS * cols].reshape(ROWS, cols).astype(np.float16)
    np.testing.assert_array_equal(found[AT : AT + ROWS], wanted)


# --- the step's end, folds --------------------------------------------------------------------------------------------


def test_a_batch_chooses_a_token_a_row() -> None:
    given = {"token": np.zeros(ROWS, np.int32), "at": np.array([5, 0, 3], np.int32)}
    run = {"run": np.zeros(9, np.int32), "made": np.array([1], np.int32)}
    launch = ArgMax("a", "token", "at", 32, ROWS, 1, Generated("run", "made"), batch=True)
    found = Arrays(arrays(**given, **run)).run([launch])
    tokens = arrays()["a"].reshape(ROWS, 32).argmax(axis=1)
    np.testing.assert_array_equal(found.plain("token"), tokens)
    np.testing.assert_array_equal(found.plain("at"), [6, 1, 4])
    np.testing.assert_array_equal(found.plain("run"), [0, 0, 0, *tokens, 0, 0, 0])
    assert found.plain("made")[0] == 2


def test_a_fold_is_both() -> None:
    index = np.array([3, 0, 31], np.int32)
    gather = Gather("m", "index", "x", ROWS, 32)
    for first in (gather, GEMV):
        then = replace(NORM, x="x", add="b", sum="sum")
        check([Fold(first, then)], [first, then], "x", "out", "sum", index=index)
