"""IQ1_S: 256 values as 32 vectors of eight from a grid of 2048 with entries -1, 0 and 1, and a scale per 32.

x = (d · (2 · scale + 1)) · (grid + shift), the shift ±1/8. A vector's index has eight bits in `low`; the word
of a group of 32 holds three more of each of its four, then its three-bit scale, and on top the sign of its
shift.
"""

import numpy as np

from lane.quant.bits import pieces, scale, scaled
from lane.quant.format import Blocks, Format, Values
from lane.quant.grids import IQ1_S_GRID

LAYOUT = np.dtype([("d", "<f2"), ("low", "u1", 32), ("high", "<u2", 8)])

SHIFT = np.float32(0.125)


def decode(blocks: Blocks) -> Values:
    words = blocks["high"]
    index = blocks["low"] | (pieces(words, 3, 4).reshape(-1, 32) << np.uint16(8))
    shift = np.where(words >> np.uint16(15), -SHIFT, SHIFT)[:, :, None]
    q = IQ1_S_GRID[index].reshape(-1, 8, 32).astype(np.float32) + shift
    factors = np.uint16(2) * ((words >> np.uint16(12)) & np.uint16(7)) + np.uint16(1)
    return scaled(scale(blocks, "d") * factors.astype(np.float32), q)


IQ1_S = Format("IQ1_S", 19, 256, LAYOUT, decode, tables=(IQ1_S_GRID,))
