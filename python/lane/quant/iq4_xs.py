"""IQ4_XS: 256 four-bit indices into IQ4_NL's values in groups of 32, each with a six-bit scale.

x = (d · (scale - 32)) · v[q]. `scales_low` holds four bits of each group's scale, two groups a byte; the word
`scales_high` the other two. Each 16 bytes of q hold a group in two planes.
"""

import numpy as np

from lane.quant.bits import pieces, planes, scale, scaled
from lane.quant.format import Blocks, Format, Values
from lane.quant.iq4_nl import LEVELS

LAYOUT = np.dtype([("d", "<f2"), ("scales_high", "<u2"), ("scales_low", "u1", 4), ("q", "u1", (8, 16))])


def decode(blocks: Blocks) -> Values:
    low = pieces(blocks["scales_low"], 4, 2).reshape(-1, 8)
    high = pieces(blocks["scales_high"], 2, 8).astype(np.uint8)
    scales = (low | (high << np.uint8(4))).view(np.int8) - np.int8(32)
    return scaled(scale(blocks, "d") * scales.astype(np.float32), LEVELS[planes(blocks["q"], 4)])


IQ4_XS = Format("IQ4_XS", 23, 256, LAYOUT, decode, tables=(LEVELS,))
