"""Q5_1: 32 five-bit values, one scale and one minimum. x = d · q + m, with d = (max - min) / 31 and m = min.

Byte i of `low` holds the low four bits of value i below those of value i + 16; bit i of the 32 bits of `high`
is the fifth of value i.
"""

import numpy as np

from lane.quant.bits import bits, planes, scale, scaled
from lane.quant.format import Blocks, Format, Values
from lane.quant.rounding import codes_of_range

LAYOUT = np.dtype([("d", "<f2"), ("m", "<f2"), ("high", "u1", 4), ("low", "u1", 16)])


def decode(blocks: Blocks) -> Values:
    q = planes(blocks["low"], 4).reshape(-1, 32) | (bits(blocks["high"]) << np.uint8(4))
    return scaled(scale(blocks, "d"), q) + scale(blocks, "m")


def encode(values: Values) -> Blocks:
    d, m, q = codes_of_range(values, 31)
    blocks = np.empty(len(values), LAYOUT)
    blocks["d"], blocks["m"] = d, m
    blocks["high"] = np.packbits(q >> np.uint8(4), axis=1, bitorder="little")
    blocks["low"] = (q[:, :16] & np.uint8(15)) | (q[:, 16:] << np.uint8(4))
    return blocks


Q5_1 = Format("Q5_1", 7, 32, LAYOUT, decode, encode)
