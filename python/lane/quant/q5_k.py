"""Q5_K: 256 five-bit values in groups of 32, each with a six-bit scale and a six-bit minimum.

x = (d · scale) · q - (dmin · min). Each 32 bytes of `low` hold the low four bits of two groups in two planes,
the 32 bytes of `high` the fifth bit of all eight in eight planes; `scales` as in k_scales.
"""

import numpy as np

from lane.quant.bits import planes, scaled
from lane.quant.format import Blocks, Format, Values
from lane.quant.k_scales import scales_and_mins

LAYOUT = np.dtype([("d", "<f2"), ("dmin", "<f2"), ("scales", "u1", 12), ("high", "u1", 32), ("low", "u1", (4, 32))])


def decode(blocks: Blocks) -> Values:
    scales, mins = scales_and_mins(blocks)
    top = planes(blocks["high"], 1) << np.uint8(4)
    return scaled(scales, planes(blocks["low"], 4).reshape(-1, 8, 32) | top, mins)


Q5_K = Format("Q5_K", 13, 256, LAYOUT, decode)
