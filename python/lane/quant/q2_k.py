"""Q2_K: 256 two-bit values in groups of 16, each with a four-bit scale and a four-bit minimum.

x = (d · scale) · q - (dmin · min). A byte of `scales` holds a group's scale below its minimum. Each 32 bytes
of q hold 128 values in four planes of 32.
"""

import numpy as np

from lane.quant.bits import planes, scale, scaled
from lane.quant.format import Blocks, Format, Values

LAYOUT = np.dtype([("scales", "u1", 16), ("q", "u1", (2, 32)), ("d", "<f2"), ("dmin", "<f2")])


def decode(blocks: Blocks) -> Values:
    packed = blocks["scales"]
    scales = scale(blocks, "d") * (packed & np.uint8(15)).astype(np.float32)
    mins = scale(blocks, "dmin") * (packed >> np.uint8(4)).astype(np.float32)
    return scaled(scales, planes(blocks["q"], 2), mins)


Q2_K = Format("Q2_K", 10, 256, LAYOUT, decode)
