"""IQ1_M: 256 values as 32 vectors of eight from IQ1_S's grid, with a shift each and a three-bit scale per 16.

x = (d · (2 · scale + 1)) · (grid + shift), the shift ±1/8. A vector's index has eight bits in `low`; its four
bits in `high`, two vectors a byte, are the other three and on top the sign of its shift. Each of the four
words of `scales` holds four scales and on top a quarter of d, the lowest quarter first.
"""

import numpy as np
from numpy.typing import NDArray

from lane.quant.bits import pieces, scaled
from lane.quant.format import Blocks, Format, Values
from lane.quant.grids import IQ1_S_GRID
from lane.quant.iq1_s import SHIFT

LAYOUT = np.dtype([("low", "u1", 32), ("high", "u1", 16), ("scales", "<u2", 4)])


def decode(blocks: Blocks) -> Values:
    nibbles = pieces(blocks["high"], 4, 2).reshape(-1, 32)
    index = blocks["low"] | ((nibbles & np.uint8(7)).astype(np.uint16) << np.uint16(8))
    shift = np.where(nibbles >> np.uint8(3), -SHIFT, SHIFT)[:, :, None]
    q = IQ1_S_GRID[index].astype(np.float32) + shift
    words = blocks["scales"]
    factors = np.uint16(2) * pieces(words, 3, 4).reshape(-1, 16) + np.uint16(1)
    return scaled(_scattered_scale(words) * factors.astype(np.float32), q)


def _scattered_scale(words: NDArray[np.uint16]) -> Values:
    quarters = (words >> np.uint16(12)) << np.array([0, 4, 8, 12], np.uint16)
    joined = np.bitwise_or.reduce(quarters, axis=1, keepdims=True)
    return joined.view(np.float16).astype(np.float32)


IQ1_M = Format("IQ1_M", 29, 256, LAYOUT, decode, tables=(IQ1_S_GRID,))
