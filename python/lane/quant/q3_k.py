"""Q3_K: 256 three-bit values in groups of 16, each with a six-bit scale.

x = (d · (scale - 32)) · (q - 4). Each 32 bytes of `low` hold the low two bits of 128 values in four planes of
32; the 32 bytes of `high` hold the third bit of all 256 in eight planes. Of the scales, eight bytes hold the
low four bits in two planes of eight, the other four the high two bits in four planes of four.
"""

import numpy as np

from lane.quant.bits import planes, scale, scaled
from lane.quant.format import Blocks, Format, Values

LAYOUT = np.dtype(
    [
        ("high", "u1", 32),
        ("low", "u1", (2, 32)),
        ("scales_low", "u1", 8),
        ("scales_high", "u1", 4),
        ("d", "<f2"),
    ]
)


def decode(blocks: Blocks) -> Values:
    low = planes(blocks["scales_low"], 4).reshape(-1, 16)
    high = planes(blocks["scales_high"], 2).reshape(-1, 16)
    scales = (low | (high << np.uint8(4))).view(np.int8) - np.int8(32)
    top = planes(blocks["high"], 1).reshape(-1, 256) << np.uint8(2)
    q = (planes(blocks["low"], 2).reshape(-1, 256) | top).view(np.int8) - np.int8(4)
    return scaled(scale(blocks, "d") * scales.astype(np.float32), q)


Q3_K = Format("Q3_K", 11, 256, LAYOUT, decode)
