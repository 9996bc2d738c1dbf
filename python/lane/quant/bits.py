"""Small integers out of bytes and words, and the few steps that several formats share.

Two ways of packing occur. In *planes*, byte i holds one small integer of each of several runs of values, so
that the low bits of all bytes make the first run. In *pieces*, a word holds neighbours: its low bits the
first, and so on up.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lane.quant.format import Blocks, Values


def planes(words: NDArray[Any], width: int) -> NDArray[Any]:
    """(..., n) bytes as (..., 8 / width, n): plane p holds bits [p·width, (p+1)·width) of every byte."""
    shifts = np.arange(0, 8, width, dtype=words.dtype)
    mask = np.array((1 << width) - 1, words.dtype)
    parts: NDArray[Any] = (words[..., None, :] >> shifts[:, None]) & mask
    return parts


def pieces(words: NDArray[Any], width: int, count: int) -> NDArray[Any]:
    """(..., n) words as (..., n, count): piece p of a word is its bits [p·width, (p+1)·width)."""
    shifts = np.arange(0, width * count, width, dtype=words.dtype)
    mask = np.array((1 << width) - 1, words.dtype)
    parts: NDArray[Any] = (words[..., None] >> shifts) & mask
    return parts


def bits(octets: NDArray[Any]) -> NDArray[np.uint8]:
    """(..., n) bytes as (..., 8n) bits, the lowest of a byte first."""
    return np.unpackbits(octets, axis=-1, bitorder="little")


def signs(masks: NDArray[Any]) -> NDArray[np.int8]:
    """(..., n) masks of eight signs as (..., n, 8) factors: -1 where the bit is set, else 1."""
    minus = bits(masks).reshape(*masks.shape, 8).view(np.int8)
    return np.int8(1) - (minus << 1)


def scale(blocks: Blocks, field: str) -> Values:
    """A block's f16 field as an (n, 1) column of float32."""
    column: Values = blocks[field].astype(np.float32)[:, None]
    return column


def scaled(scales: Values, numbers: NDArray[Any], mins: Values | None = None) -> Values:
    """scale · integer (- min), a scale a group: (n, g) by any shape of n·g·k integers, as (n, g·k)."""
    count, groups = scales.shape
    product: Values = scales[:, :, None] * numbers.reshape(count, groups, -1).astype(np.float32)
    if mins is not None:
        product -= mins[:, :, None]
    return product.reshape(count, -1)
