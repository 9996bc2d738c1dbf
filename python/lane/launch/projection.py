"""Projections and the quantiser that feeds them.

A quantised activation is, per block of 32 values x with a = max |x|: scale s = a / 127 in f32, words
round-half-even(x · (127 / a)); an all-zero block has scale 0 and words 0. `int8x2` adds second words
round-half-even((x - s·w) · 254 / s), so that x ≈ s·w + (s/254)·w2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lane.launch.meaning.product import product
from lane.launch.record import F32, F64, I8, QUANT_BLOCK_ELEMS, Form, Launch, Matrix, Memory, Read, Write

SECOND_WORD_STEPS = 254  # a second word counts in 1/254 of the first's scale: half a step each way over ±127


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


@dataclass(frozen=True)
class Quant(Launch):
    """The quantised form of the first `n` values of a plain tensor."""

    kind: ClassVar[str] = "quant"

    x: Read
    out: Write
    n: int

    def form_written(self, field: str) -> Form:
        return Form.QUANT

    def compute(self, memory: Memory) -> None:
        # `Memory.quantised` derives the form from the plain values by `quantise`; nothing else is stored.
        del memory

    def operations(self) -> int:
        return 4 * self.n


@dataclass(frozen=True)
class Gemv(Launch):
    """y (m × n) = x (m × k) · wᵀ, w being n rows of k values in its checkpoint format.

    `quant`: x is read in its quantised form (block formats under the int8 numerics), otherwise plain.
    """

    kind: ClassVar[str] = "gemv"

    x: Read
    w: Matrix
    y: Write
    k: int
    n: int
    m: int
    quant: bool

    def form_read(self, field: str) -> Form:
        return Form.QUANT if self.quant else Form.PLAIN

    def compute(self, memory: Memory) -> None:
        source = memory.quantised(self.x) if self.quant else memory.plain(self.x).astype(np.float64)
        x = source[: self.m * self.k].reshape(self.m, self.k)
        memory.plain(self.y)[: self.m * self.n] = product(x, memory.matrix(self.w)).reshape(-1)

    def operations(self) -> int:
        return 2 * self.m * self.n * self.k
