"""IQ2_XS: 256 values as 32 vectors of eight from a grid of 512, with seven signs each and a scale per 16.

x = (d · (0.5 + scale) · 0.25) · ±grid. A vector's word holds its index in nine bits, below its mask of signs
in seven; four-bit scales lie two a byte.
"""

import numpy as np

from lane.quant.bits import pieces, scale, scaled, signs
from lane.quant.format import Blocks, Format, Values
from lane.quant.grids import IQ2_XS_GRID, SIGN_MASKS

LAYOUT = np.dtype([("d", "<f2"), ("index_and_signs", "<u2", 32), ("scales", "u1", 8)])


def decode(blocks: Blocks) -> Values:
    words = blocks["index_and_signs"]
    q = IQ2_XS_GRID[words & np.uint16(511)] * signs(SIGN_MASKS[words >> np.uint16(9)])
    factors = np.float32(0.5) + pieces(blocks["scales"], 4, 2).reshape(-1, 16).astype(np.float32)
    return scaled(scale(blocks, "d") * factors * np.float32(0.25), q)


IQ2_XS = Format("IQ2_XS", 17, 256, LAYOUT, decode, tables=(IQ2_XS_GRID, SIGN_MASKS))
