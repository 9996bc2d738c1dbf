"""Q4_K: 256 four-bit values in groups of 32, each with a six-bit scale and a six-bit minimum.

x = (d · scale) · q - (dmin · min). Each 32 bytes of q hold two groups in two planes; `scales` as in k_scales.
"""

import numpy as np

from lane.quant.bits import planes, scaled
from lane.quant.format import Blocks, Format, Values
from lane.quant.k_scales import scales_and_mins

LAYOUT = np.dtype([("d", "<f2"), ("dmin", "<f2"), ("scales", "u1", 12), ("q", "u1", (4, 32))])


def decode(blocks: Blocks) -> Values:
    scales, mins = scales_and_mins(blocks)
    return scaled(scales, planes(blocks["q"], 4), mins)


Q4_K = Format("Q4_K", 12, 256, LAYOUT, decode)
