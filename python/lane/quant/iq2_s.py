"""IQ2_S: 256 values as 32 vectors of eight from a grid of 1024, with a sign each and a four-bit scale per 16.

x = (d · (0.5 + scale) · 0.25) · ±grid. A vector's index has eight bits in `low` and two in `high`, where four
vectors share a byte; scales lie two a byte.
"""

import numpy as np

from lane.quant.bits import pieces, scale, scaled, signs
from lane.quant.format import Blocks, Format, Values
from lane.quant.grids import IQ2_S_GRID

LAYOUT = np.dtype([("d", "<f2"), ("low", "u1", 32), ("signs", "u1", 32), ("high", "u1", 8), ("scales", "u1", 8)])


def decode(blocks: Blocks) -> Values:
    high = pieces(blocks["high"], 2, 4).reshape(-1, 32).astype(np.uint16)
    q = IQ2_S_GRID[blocks["low"] | (high << np.uint16(8))] * signs(blocks["signs"])
    factors = np.float32(0.5) + pieces(blocks["scales"], 4, 2).reshape(-1, 16).astype(np.float32)
    return scaled(scale(blocks, "d") * factors * np.float32(0.25), q)


IQ2_S = Format("IQ2_S", 22, 256, LAYOUT, decode, tables=(IQ2_S_GRID,))
