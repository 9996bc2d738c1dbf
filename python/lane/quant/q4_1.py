"""Q4_1: 32 four-bit values, one scale and one minimum. x = d · q + m, with d = (max - min) / 15 and m = min.

Byte i of q holds value i below value i + 16.
"""

import numpy as np

from lane.quant.bits import planes, scale, scaled
from lane.quant.format import Blocks, Format, Values
from lane.quant.rounding import codes_of_range

LAYOUT = np.dtype([("d", "<f2"), ("m", "<f2"), ("q", "u1", 16)])


def decode(blocks: Blocks) -> Values:
    return scaled(scale(blocks, "d"), planes(blocks["q"], 4)) + scale(blocks, "m")


def encode(values: Values) -> Blocks:
    d, m, q = codes_of_range(values, 15)
    blocks = np.empty(len(values), LAYOUT)
    blocks["d"], blocks["m"] = d, m
    blocks["q"] = q[:, :16] | (q[:, 16:] << np.uint8(4))
    return blocks


Q4_1 = Format("Q4_1", 3, 32, LAYOUT, decode, encode)
