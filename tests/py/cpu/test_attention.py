"""Attention against float64, over shapes around the kernels' tiles, and its bits against rows taken one by one.

Tolerance (f32). u = 2^-24. A score is scale·Σ q·k: a lane's chain of hd/8 multiply-adds, three additions, the scale's
own rounding and the product's: δ = (hd/8 + 5)·u·scale·Σ|q·k|; a cap adds its quotient, tanh (6u + EXP) and product.
A weight is e^(s - m): relative error EXP + 2δ (its own score's and the greatest's) + u·|s - m|. Values are summed
position after position in chunks of 64, chunks merged with two roundings and an exp each; the total is one more sum; a
quotient. So the result is within (2·(EXP + 2δ + u·|s - m|) + (64 + chunks·(3 + EXP/u) + 2)·u) · Σ p·|v| / Σ p.
Under `precise` sums are f64 and `check`'s one rounding is all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from lane.launch.attention import Attention
from lane.launch.quantised import Component
from lane.launch.record import F64, Numerics
from lane.launch.tiles import tile
from tests.py.cpu.checks import EXP, U, bits, check, floats
from tests.py.cpu.one_launch import POOL, Case, Device, run_device
from tests.py.cpu.sweeps import sweeps

SPAN = tile("cpu_span_chunk")  # positions of a chunk


@dataclass(frozen=True)
class Shape:
    rows: int
    start: int
    heads: int
    group: int
    hd: int
    vd: int
    window: int = 0
    cap: float = 0.0
    sinks: bool = False
    spare: int = 0  # rows of the cache past the last one in use

    @property
    def length(self) -> int:
        return self.start + self.rows + self.spare


# Rows around the three queries of a tile, the few that are split and a task's stretch of 16; spans around a chunk;
# widths around 8 lanes and 4 vectors; groups 1, 2, 3 and more.
SHAPES = (
    Shape(1, 0, 1, 1, 8, 8),
    Shape(1, 62, 4, 2, 64, 64, spare=9),
    Shape(1, 63, 3, 3, 64, 64),
    Shape(1, 64, 3, 3, 64, 64, spare=1),
    Shape(1, 200, 9, 3, 64, 64),
    Shape(1, 130, 8, 8, 40, 24),
    Shape(2, 63, 4, 1, 20, 7),
    Shape(3, 125, 6, 2, 9, 33, spare=70),
    Shape(4, 10, 4, 4, 32, 48),
    Shape(5, 60, 5, 5, 16, 16),
    Shape(16, 0, 3, 3, 64, 64),
    Shape(17, 100, 2, 1, 128, 96),
    Shape(67, 31, 6, 3, 64, 64),
    Shape(1, 300, 4, 2, 32, 32, window=1),
    Shape(1, 300, 4, 2, 32, 32, window=64),
    Shape(1, 299, 4, 2, 32, 32, window=130),
    Shape(20, 90, 4, 2, 32, 32, window=17),
    Shape(40, 0, 3, 1, 24, 24, window=33),
    Shape(1, 150, 4, 2, 32, 32, cap=5.0),
    Shape(33, 50, 4, 2, 32, 32, cap=5.0, window=70),
    Shape(1, 90, 4, 2, 32, 32, sinks=True),
    Shape(18, 70, 4, 2, 32, 32, sinks=True, window=40),
)


def attention(shape: Shape, rng: np.random.Generator, numerics: Numerics = Numerics.INT8) -> Case:
    """Random queries and caches; cache rows past the last position are poison."""
    kv_heads = shape.heads // shape.group
    used = shape.start + shape.rows
    keys = floats(rng, shape.length, kv_heads, shape.hd)
    values = floats(rng, shape.length, kv_heads, shape.vd)
    keys[used * kv_heads * shape.hd :] = 1e9
    values[used * kv_heads * shape.vd :] = 1e9
    arrays = {
        "q": 2 * floats(rng, shape.rows, shape.heads, shape.hd),
        "k": keys,
        "v": values,
        "pos": np.array([shape.start], np.int32),
        "sinks": 3 * floats(rng, shape.heads),
        "out": np.full(shape.rows * shape.heads * shape.vd, np.nan, np.float32),
    }
    launch = Attention(
        q="q",
        kc="k",
        vc="v",
        pos="pos",
        sinks="sinks" if shape.sinks else None,
        out="out",
        rows=shape.rows,
        heads=shape.heads,
        group=shape.group,
        hd=shape.hd,
        vd=shape.vd,
        len=shape.length,
        scale=shape.hd**-0.5,
        window=shape.window,
        cap=shape.cap,
    )
    return Case([launch], arrays, numerics=numerics)


def tolerance(case: Case, shape: Shape) -> F64:
    kv_heads = shape.heads // shape.group
    q = case.arrays["q"].astype(np.float64).reshape(shape.rows, kv_heads, shape.group, shape.hd)
    keys = case.arrays["k"].astype(np.float64).reshape(shape.length, kv_heads, shape.hd)
    values = case.arrays["v"].astype(np.float64).reshape(shape.length, kv_heads, shape.vd)
    sinks = case.arrays["sinks"].astype(np.float64).reshape(kv_heads, shape.group, 1)
    scale = shape.hd**-0.5
    allowed = np.empty((shape.rows, kv_heads, shape.group, shape.vd))
    for r in range(shape.rows):
        end = shape.start + r + 1
        first = max(0, end - shape.window) if shape.window else 0
        s = scale * np.einsum("hgd,phd->hgp", q[r], keys[first:end])
        size = scale * np.einsum("hgd,phd->hgp", np.abs(q[r]), np.abs(keys[first:end]))
        delta = (-(-shape.hd // 8) + 5) * U * size
        if shape.cap:
            s = shape.cap * np.tanh(s / shape.cap)
            delta = delta + (EXP + 9 * U) * np.abs(s)
        top = s.max(axis=-1, keepdims=True)
        if shape.sinks:
            top = np.maximum(top, sinks)
        p = np.exp(s - top)
        total = p.sum(axis=-1, keepdims=True) + (np.exp(sinks - top) if shape.sinks else 0)
        weight = EXP + 2 * delta.max(axis=-1, keepdims=True) + U * np.abs(s - top).max(axis=-1, keepdims=True)
        chunks = end // SPAN - first // SPAN + 1
        sums = (SPAN + chunks * (3 + EXP / U) + 2) * U
        reach = np.einsum("hgp,phd->hgd", p / total, np.abs(values[first:end]))
        allowed[r] = (2 * weight + sums) * reach
    return allowed.reshape(-1)


@sweeps(Attention)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sweep(shape: Shape) -> None:
    case = attention(shape, np.random.default_rng(shape.length))
    check(case, {"out": tolerance(case, shape)})


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_precise(shape: Shape) -> None:
    case = attention(shape, np.random.default_rng(shape.length), Numerics.PRECISE)
    check(case, {"out": np.full(len(case.arrays["out"]), 1e-13)})  # f64 sums of some hundred values of size 1


@pytest.mark.parametrize("numerics", [Numerics.INT8, Numerics.PRECISE], ids=lambda n: n.value)
@pytest.mark.parametrize("shape", [s for s in SHAPES if s.rows > 1], ids=str)
def test_a_row_is_the_same_alone(shape: Shape, numerics: Numerics) -> None:
    """A chunk's rows have the bits of the decode step, however either is shared between threads."""
    case = attention(shape, np.random.default_rng(1), numerics)
    whole = run_device(case, threads=2)["out"].reshape(shape.rows, -1)
    for row in range(shape.rows):
        alone = replace(shape, rows=1, start=shape.start + row, spare=shape.length - shape.start - row - 1)
        one = attention(alone, np.random.default_rng(1), numerics)
        one.arrays["q"][:] = case.arrays["q"].reshape(shape.rows, -1)[row]
        for name in ("k", "v", "sinks"):
            one.arrays[name][:] = case.arrays[name]
        for threads in (1, 3):
            np.testing.assert_array_equal(bits(run_device(one, threads=threads)["out"]), bits(whole[row].copy()))


def test_rows_past_the_position_are_never_used() -> None:
    """NaN in cache rows past a query's position, and before its window, changes nothing."""
    shape = Shape(6, 80, 4, 2, 32, 32, window=40, spare=60)
    case = attention(shape, np.random.default_rng(2))
    clean = run_device(case)["out"]
    for name in ("k", "v"):
        cache = case.arrays[name].reshape(shape.length, -1)
        cache[: shape.start - 39] = np.nan
        cache[shape.start + shape.rows :] = np.nan
    np.testing.assert_array_equal(bits(run_device(case, threads=2)["out"]), bits(clean))


def test_a_later_row_s_nan_stays_in_its_row() -> None:
    """A chunk's rows see the keys of rows before them alone, as decoding one by one does."""
    shape = Shape(4, 61, 2, 1, 16, 16)
    case = attention(shape, np.random.default_rng(3))
    clean = run_device(case)["out"].reshape(shape.rows, -1)
    for name in ("k", "v"):
        case.arrays[name].reshape(shape.length, -1)[shape.start + 2] = np.nan
    found = run_device(case)["out"].reshape(shape.rows, -1)
    np.testing.assert_array_equal(bits(found[:2].copy()), bits(clean[:2].copy()))
    assert np.isnan(found[2:]).all()


def test_the_span_follows_the_position() -> None:
    """One form at many positions: the chunks that it splits into are found anew each run."""
    shape = Shape(1, 200, 4, 2, 16, 16)
    case = attention(shape, np.random.default_rng(4))
    device = Device(case, threads=2)
    for start in (200, 0, 63, 64, 129, 5):
        device.program.write(
            POOL, device.offsets["pos", Component.PLAIN][0], np.array([start], np.int32).view(np.uint8)
        )
        found = device.run()["out"]
        moved = Case(case.launches, {**case.arrays, "pos": np.array([start], np.int32)})
        np.testing.assert_array_equal(bits(found), bits(run_device(moved)["out"]))
