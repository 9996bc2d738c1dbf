"""How the quantisers round: the values of a block to small integers under one scale, as gguf-py's do."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lane.quant.format import Values


def reciprocal(scales: Values) -> Values:
    """1/d, and 0 where d is 0 or so small that 1/d is infinite; the f16 of such a d is 0 in any case."""
    inverse = np.float32(1) / scales
    kept: Values = np.where(np.isfinite(inverse), inverse, np.float32(0))
    return kept


def round_away(values: Values) -> Values:
    """The nearest integer, a half away from zero."""
    size = np.abs(values)
    whole = np.floor(size)
    rounded: Values = np.copysign(whole + (size - whole >= np.float32(0.5)), values)
    return rounded


def codes_of_extreme(values: Values, half: int) -> tuple[Values, NDArray[np.uint8]]:
    """(n,) scales and (n, k) codes in [0, 2·half): the block's value of largest size gets code 0.

    That value's own sign goes into the scale, d = extreme / -half, so that the full range of codes serves it.
    """
    at = np.abs(values).argmax(axis=1, keepdims=True)
    d = np.take_along_axis(values, at, axis=1) / np.float32(-half)
    return d[:, 0], _codes(values * reciprocal(d) + np.float32(half + 0.5), 2 * half - 1)


def codes_of_range(values: Values, steps: int) -> tuple[Values, Values, NDArray[np.uint8]]:
    """(n,) scales, (n,) minima and (n, k) codes in [0, steps] that divide the block's range evenly."""
    low = values.min(axis=1, keepdims=True)
    d = (values.max(axis=1, keepdims=True) - low) / np.float32(steps)
    return d[:, 0], low[:, 0], _codes((values - low) * reciprocal(d) + np.float32(0.5), steps)


def _codes(shifted: NDArray[Any], most: int) -> NDArray[np.uint8]:
    """Towards zero, what rounding pushed past the last code held back to it."""
    return np.minimum(shifted.astype(np.uint8), np.uint8(most))
