"""IQ3_XXS: 256 values as 64 vectors of four from a grid of 256, seven signs per eight and a scale per 32.

x = (d · (0.5 + scale) · 0.5) · ±grid. The word of a group of 32 holds its four masks of signs in seven bits
each, below its four-bit scale.
"""

import numpy as np

from lane.quant.bits import pieces, scale, scaled, signs
from lane.quant.format import Blocks, Format, Values
from lane.quant.grids import IQ3_XXS_GRID, SIGN_MASKS

LAYOUT = np.dtype([("d", "<f2"), ("index", "u1", 64), ("signs_and_scale", "<u4", 8)])


def decode(blocks: Blocks) -> Values:
    words = blocks["signs_and_scale"]
    masks = SIGN_MASKS[pieces(words, 7, 4)].reshape(-1, 32)
    q = IQ3_XXS_GRID[blocks["index"]].reshape(-1, 32, 8) * signs(masks)
    factors = np.float32(0.5) + (words >> np.uint32(28)).astype(np.float32)
    return scaled(scale(blocks, "d") * factors * np.float32(0.5), q)


IQ3_XXS = Format("IQ3_XXS", 18, 256, LAYOUT, decode, tables=(IQ3_XXS_GRID, SIGN_MASKS))
