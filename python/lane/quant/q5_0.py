"""Q5_0: 32 five-bit values and one scale. x = d · (q - 16), with d = (the value of largest size) / -16.

Byte i of `low` holds the low four bits of value i below those of value i + 16; bit i of the 32 bits of `high`
is the fifth of value i.
"""

import numpy as np

from lane.quant.bits import bits, planes, scale, scaled
from lane.quant.format import Blocks, Format, Values
from lane.quant.rounding import codes_of_extreme

LAYOUT = np.dtype([("d", "<f2"), ("high", "u1", 4), ("low", "u1", 16)])


def decode(blocks: Blocks) -> Values:
    q = planes(blocks["low"], 4).reshape(-1, 32) | (bits(blocks["high"]) << np.uint8(4))
    return scaled(scale(blocks, "d"), q.view(np.int8) - np.int8(16))


def encode(values: Values) -> Blocks:
    d, q = codes_of_extreme(values, 16)
    blocks = np.empty(len(values), LAYOUT)
    blocks["d"] = d
    blocks["high"] = np.packbits(q >> np.uint8(4), axis=1, bitorder="little")
    blocks["low"] = (q[:, :16] & np.uint8(15)) | (q[:, 16:] << np.uint8(4))
    return blocks


Q5_0 = Format("Q5_0", 6, 32, LAYOUT, decode, encode)
