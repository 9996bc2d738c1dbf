"""Q4_0: 32 four-bit values and one scale. x = d · (q - 8), with d = (the value of largest size) / -8.

Byte i of q holds value i below value i + 16.
"""

import numpy as np

from lane.quant.bits import planes, scale, scaled
from lane.quant.format import Blocks, Format, Values
from lane.quant.rounding import codes_of_extreme

LAYOUT = np.dtype([("d", "<f2"), ("q", "u1", 16)])


def decode(blocks: Blocks) -> Values:
    q = planes(blocks["q"], 4).view(np.int8) - np.int8(8)
    return scaled(scale(blocks, "d"), q)


def encode(values: Values) -> Blocks:
    d, q = codes_of_extreme(values, 8)
    blocks = np.empty(len(values), LAYOUT)
    blocks["d"] = d
    blocks["q"] = q[:, :16] | (q[:, 16:] << np.uint8(4))
    return blocks


Q4_0 = Format("Q4_0", 2, 32, LAYOUT, decode, encode)
