"""Q6_K: 256 six-bit values in groups of 16, each with an int8 scale.

x = (d · scale) · (q - 32). A half of 128 values has 64 bytes of `low`, its low four bits in two planes of 64,
and 32 bytes of `high`, the other two in four planes of 32.
"""

import numpy as np

from lane.quant.bits import planes, scale, scaled
from lane.quant.format import Blocks, Format, Values

LAYOUT = np.dtype([("low", "u1", (2, 64)), ("high", "u1", (2, 32)), ("scales", "i1", 16), ("d", "<f2")])


def decode(blocks: Blocks) -> Values:
    top = planes(blocks["high"], 2).reshape(-1, 256) << np.uint8(4)
    q = (planes(blocks["low"], 4).reshape(-1, 256) | top).view(np.int8) - np.int8(32)
    return scaled(scale(blocks, "d") * blocks["scales"].astype(np.float32), q)


Q6_K = Format("Q6_K", 14, 256, LAYOUT, decode)
