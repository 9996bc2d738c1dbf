"""IQ3_S: 256 values as 64 vectors of four from a grid of 512, with a sign each and a four-bit scale per 32.

x = (d · (1 + 2 · scale)) · ±grid. A vector's index has eight bits in `low` and its ninth in `high`; scales
lie two a byte.
"""

import numpy as np

from lane.quant.bits import bits, pieces, scale, scaled, signs
from lane.quant.format import Blocks, Format, Values
from lane.quant.grids import IQ3_S_GRID

LAYOUT = np.dtype([("d", "<f2"), ("low", "u1", 64), ("high", "u1", 8), ("signs", "u1", 32), ("scales", "u1", 4)])


def decode(blocks: Blocks) -> Values:
    index = blocks["low"].astype(np.uint16) | (bits(blocks["high"]).astype(np.uint16) << np.uint16(8))
    q = IQ3_S_GRID[index].reshape(-1, 32, 8) * signs(blocks["signs"])
    scales = pieces(blocks["scales"], 4, 2).reshape(-1, 8)
    factors = (np.uint8(1) + np.uint8(2) * scales).astype(np.float32)
    return scaled(scale(blocks, "d") * factors, q)


IQ3_S = Format("IQ3_S", 21, 256, LAYOUT, decode, tables=(IQ3_S_GRID,))
