"""IQ2_XXS: 256 values as 32 vectors of eight from a grid of 256, with seven signs each and a scale per 32.

x = (d · (0.5 + scale) · 0.25) · ±grid. A group of 32 is four bytes of indices and a word that holds its four
masks of signs in seven bits each, below its four-bit scale.
"""

import numpy as np

from lane.quant.bits import pieces, scale, scaled, signs
from lane.quant.format import Blocks, Format, Values
from lane.quant.grids import IQ2_XXS_GRID, SIGN_MASKS

GROUP = np.dtype([("index", "u1", 4), ("signs_and_scale", "<u4")])
LAYOUT = np.dtype([("d", "<f2"), ("groups", GROUP, 8)])


def decode(blocks: Blocks) -> Values:
    groups = blocks["groups"]
    words = groups["signs_and_scale"]
    q = IQ2_XXS_GRID[groups["index"]] * signs(SIGN_MASKS[pieces(words, 7, 4)])
    factors = np.float32(0.5) + (words >> np.uint32(28)).astype(np.float32)
    return scaled(scale(blocks, "d") * factors * np.float32(0.25), q)


IQ2_XXS = Format("IQ2_XXS", 16, 256, LAYOUT, decode, tables=(IQ2_XXS_GRID, SIGN_MASKS))
