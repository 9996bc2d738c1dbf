"""The quantised form of an activation: its arrays, their bytes, and the quantiser's definition.

Per block of 32 values x with a = max |x|: scale s = a / 127 in f32, words round-half-even(x · (127 / a)); an all-zero
block has scale 0 and words 0. `int8x2` adds second words round-half-even((x - s·w) · 254 / s), so that
x ≈ s·w + (s/254)·w2.
"""

from __future__ import annotations

import enum

import numpy as np

from lane.launch.fields import Storage
from lane.launch.record import F32, F64, I8, Numerics
from lane.launch.table import ELEM_BYTES, Elem

QUANT_BLOCK_ELEMS = 32  # values that share one scale
SECOND_WORD_STEPS = 254  # a second word counts in 1/254 of the first's scale: half a step each way over ±127


class Component(enum.Enum):
    """The arrays that a buffer may have; of all but `MATRIX` the values are columns of the buffer table."""

    PLAIN = "plain"
    WORDS = "words"
    SECOND = "second"
    SCALES = "scales"
    MATRIX = "matrix"


def components(storage: Storage, numerics: Numerics) -> tuple[Component, ...]:
    """The arrays of one storage of a buffer."""
    if storage is Storage.PLAIN:
        return (Component.PLAIN,)
    if storage is Storage.MATRIX:
        return (Component.MATRIX,)
    second = (Component.SECOND,) if numerics is Numerics.INT8X2 else ()
    return (Component.WORDS, *second, Component.SCALES)


def component_bytes(component: Component, elems: int, elem: Elem = Elem.F32) -> int:
    """The bytes that `elems` values take in an array; also where in it values from that element on begin."""
    if component is Component.PLAIN:
        return elems * ELEM_BYTES[elem]
    if component is Component.SCALES:
        return elems // QUANT_BLOCK_ELEMS * 4
    assert component is not Component.MATRIX, "a matrix's bytes are its format's to say"
    return elems


def quantised_bytes(elems: int, numerics: Numerics) -> int:
    """Bytes of the quantised form of `elems` values."""
    return sum(component_bytes(component, elems) for component in components(Storage.QUANT, numerics))


def quantise(x: F32) -> tuple[I8, I8, F32]:
    """Words, second words and scales of a flat f32 array whose length is a multiple of 32.

    Every operation is one rounded f32 operation in a fixed order, so that every device gives the same bits. A word that
    is no finite number (of an infinity, a NaN, or where 127 / a overflows) is 0.
    """
    with np.errstate(all="ignore"):
        return _quantise(x)


def _quantise(x: F32) -> tuple[I8, I8, F32]:
    blocks = x.astype(np.float32).reshape(-1, QUANT_BLOCK_ELEMS)
    amax = np.abs(blocks).max(axis=1).astype(np.float32)
    live = amax > 0
    scale = (amax / np.float32(127)).astype(np.float32)
    inverse = np.where(live, np.float32(127) / np.where(live, amax, np.float32(1)), np.float32(0)).astype(np.float32)
    words = _words(blocks * inverse[:, None])
    rest = (blocks - words.astype(np.float32) * scale[:, None]).astype(np.float32)
    steps = (inverse * np.float32(SECOND_WORD_STEPS)).astype(np.float32)
    second = _words(np.clip(rest * steps[:, None], -127, 127))
    return words.reshape(-1), second.reshape(-1), scale


def _words(steps: F32) -> I8:
    return np.where(np.isfinite(steps), np.rint(steps), 0).astype(np.int8)


def quantised_values(words: I8, second: I8 | None, scales: F32) -> F64:
    """The values that a quantised array stands for."""
    s = np.repeat(scales.astype(np.float64), QUANT_BLOCK_ELEMS)
    values = words.astype(np.float64) * s
    return values if second is None else values + second.astype(np.float64) * s / SECOND_WORD_STEPS


def requantised(x: F32, numerics: Numerics) -> F64:
    """What is left of values that are quantised: those that their words and scales stand for."""
    words, second, scales = quantise(x)
    return quantised_values(words, second if numerics is Numerics.INT8X2 else None, scales)
