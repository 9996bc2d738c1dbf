"""The quantiser: its error bounds, and its definition at the edges.

With scale s of a block of largest magnitude a (s = a/127, rounded) and u = 2^-24, the unit roundoff of f32:

first words   x·(127/a) is three roundings from x/s (the quotient's, the product's, the scale's own) of at most 127,
              then rounded to a whole number: |x − s·w| ≤ s·(1/2 + 127·3u).
second words  the rest x − s·w is computed within 128u·s (a product of at most 127·s and a difference of at most s/2,
              each rounded) and counted in s/254 with five roundings of at most 127 steps; it can reach 127·3u·s beyond
              the 127 steps that a word holds, which clipping loses:
              |x − s·w − (s/254)·w2| ≤ s/254·(1/2 + 127·5u) + (128 + 381)u·s.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lane.launch.quantised import QUANT_BLOCK_ELEMS, SECOND_WORD_STEPS, quantise, quantised_values

U = 2.0**-24
FIRST = 0.5 + 127 * 3 * U
SECOND = (0.5 + 127 * 5 * U) / SECOND_WORD_STEPS + (128 + 381) * U

# Magnitudes whose scales are normal numbers and whose products do not overflow.
VALUES = st.floats(-(2.0**100), 2.0**100, width=32).filter(lambda v: v == 0 or abs(v) > 2.0**-100)
BLOCKS = hnp.arrays(np.float32, st.integers(1, 4).map(lambda n: n * QUANT_BLOCK_ELEMS), elements=VALUES)

# Arrays are slow to draw; the time says nothing about the quantiser.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@unhurried
@given(BLOCKS)
def test_error_bounds(x: np.ndarray) -> None:
    words, second, scales = quantise(x)
    steps = np.repeat(scales.astype(np.float64), QUANT_BLOCK_ELEMS)
    assert words.dtype == second.dtype == np.int8
    assert np.abs(words.astype(int)).max() <= 127
    assert np.abs(second.astype(int)).max() <= 127
    exact = x.astype(np.float64)
    assert (np.abs(exact - quantised_values(words, None, scales)) <= FIRST * steps).all()
    assert (np.abs(exact - quantised_values(words, second, scales)) <= SECOND * steps).all()


@unhurried
@given(BLOCKS, st.integers(-20, 20))
def test_a_power_of_two_scales_the_scale_alone(x: np.ndarray, power: int) -> None:
    words, second, scales = quantise(x)
    again = quantise(np.ldexp(x, power).astype(np.float32))
    np.testing.assert_array_equal(again[0], words)
    np.testing.assert_array_equal(again[1], second)
    np.testing.assert_array_equal(again[2], np.ldexp(scales, power))


def block(*values: float) -> np.ndarray:
    x = np.zeros(QUANT_BLOCK_ELEMS, np.float32)
    x[: len(values)] = values
    return x


def test_the_largest_magnitude_becomes_127() -> None:
    words, _, scales = quantise(block(-3.0, 1.5))
    assert words[0] == -127
    assert scales[0] == np.float32(3.0) / np.float32(127)


def test_an_all_zero_block_has_scale_and_words_zero() -> None:
    x = np.concatenate([block(), block(1.0), block(-0.0)])
    words, second, scales = quantise(x)
    assert scales[0] == scales[2] == 0
    assert not words[:32].any() and not words[64:].any()
    assert not second[:32].any() and not second[64:].any()
    assert words[32] == 127


@pytest.mark.parametrize(("value", "word"), [(0.5, 0), (1.5, 2), (2.5, 2), (3.5, 4), (-0.5, 0), (-1.5, -2), (-2.5, -2)])
def test_ties_go_to_even(value: float, word: int) -> None:
    """127 as the largest makes the scale exactly 1, so that halves are ties."""
    words, second, _ = quantise(block(127.0, value))
    assert words[1] == word
    assert second[1] == (value - word) * SECOND_WORD_STEPS


def test_subnormal_blocks_keep_their_scale_and_have_no_words_that_are_no_numbers() -> None:
    """Below 2^-121, 127 / a overflows."""
    tiny = np.float32(2.0**-130)
    words, second, scales = quantise(block(tiny, -tiny / 2))
    assert scales[0] == tiny / np.float32(127)
    assert not words.any()
    assert second[0] == 127 and second[1] == -127


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_block_that_is_not_finite_shows_in_its_scale(value: float) -> None:
    words, second, scales = quantise(np.concatenate([block(1.0, value), block(1.0)]))
    assert not np.isfinite(scales[0]) and np.isfinite(scales[1])
    assert not words[:32].any() and not second[:32].any()
    assert words[32] == 127


def test_the_largest_floats() -> None:
    top = np.finfo(np.float32).max
    words, _, scales = quantise(block(top, -top))
    assert list(words[:2]) == [127, -127]
    assert np.isfinite(scales[0])
