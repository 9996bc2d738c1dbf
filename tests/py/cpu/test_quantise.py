"""The device's quantiser: bit for bit `lane.launch.quantised.quantise`, whatever the values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lane import _core
from lane.launch.projection import Quant
from lane.launch.quantised import QUANT_BLOCK_ELEMS, Component, quantise
from lane.launch.record import Numerics
from lane.launch.tiles import tile
from tests.py.cpu.checks import bits
from tests.py.cpu.one_launch import Case, Device
from tests.py.cpu.sweeps import sweeps

BLOCK = QUANT_BLOCK_ELEMS
TASK = tile("cpu_task_elems")  # values that one thread takes at a time


def check(x: np.ndarray, numerics: Numerics, threads: int = 1) -> None:
    case = Case([Quant(x="x", out="x", n=len(x))], {"x": x}, quantised=frozenset({"x"}), numerics=numerics)
    words, second, scales = quantise(x)
    for isa in _core.cpu_isas():
        device = Device(case, isa, threads)
        device.run()
        np.testing.assert_array_equal(device.read("x", Component.WORDS).view(np.int8), words)
        np.testing.assert_array_equal(bits(device.read("x", Component.SCALES).view(np.float32)), bits(scales))
        if numerics is Numerics.INT8X2:
            np.testing.assert_array_equal(device.read("x", Component.SECOND).view(np.int8), second)


@sweeps(Quant)
@pytest.mark.parametrize("numerics", [Numerics.INT8, Numerics.INT8X2])
@pytest.mark.parametrize("count", [BLOCK, 3 * BLOCK, TASK - BLOCK, TASK, TASK + BLOCK, 3 * TASK + 7 * BLOCK])
def test_lengths(count: int, numerics: Numerics) -> None:
    rng = np.random.default_rng(count)
    check((rng.normal(size=count) * np.exp(rng.normal(size=count))).astype(np.float32), numerics, threads=2)


@pytest.mark.parametrize("numerics", [Numerics.INT8, Numerics.INT8X2])
def test_ties(numerics: Numerics) -> None:
    """Values half way between words: with a largest magnitude of 127, word and value are the same."""
    x = np.arange(-63.5, 64.5, 0.5, dtype=np.float32)
    blocks = np.concatenate([np.append(part, np.float32(127)) for part in np.array_split(x, 9)])
    padded = np.zeros(-(-len(blocks) // BLOCK) * BLOCK, np.float32)
    padded[: len(blocks)] = blocks
    check(padded, numerics)


@pytest.mark.parametrize("numerics", [Numerics.INT8, Numerics.INT8X2])
@pytest.mark.parametrize(
    "value", [0.0, -0.0, 1e-45, 1e-39, 3e-39, 1e-38, 3.7e-37, 1e-36, 3e38, np.inf, -np.inf, np.nan]
)
def test_edges(value: float, numerics: Numerics) -> None:
    rng = np.random.default_rng(5)
    alone, mixed, small = np.zeros((3, BLOCK), np.float32)
    alone[7] = value
    mixed[:] = rng.normal(size=BLOCK)
    mixed[31] = value
    small[:] = rng.normal(size=BLOCK) * np.float32(1e-40)
    small[0] = value
    check(np.concatenate([alone, mixed, small]), numerics)


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.uint32, BLOCK, elements=st.integers(0, 2**32 - 1)))
def test_any_bits(raw: np.ndarray) -> None:
    check(raw.view(np.float32), Numerics.INT8X2)
