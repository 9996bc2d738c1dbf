"""TQ2_0: 256 values of two bits and one scale. x = d · (q - 1), with d = max|x| and q rounded to 0, 1 or 2.

Each 32 bytes of q hold 128 values in four planes of 32. A file may hold the fourth code, which decodes to
2 · d.
"""

import numpy as np

from lane.quant.bits import planes, scale, scaled
from lane.quant.format import Blocks, Format, Values
from lane.quant.rounding import reciprocal, round_away

LAYOUT = np.dtype([("q", "u1", (2, 32)), ("d", "<f2")])


def decode(blocks: Blocks) -> Values:
    return scaled(scale(blocks, "d"), planes(blocks["q"], 2).view(np.int8) - np.int8(1))


def encode(values: Values) -> Blocks:
    d = np.abs(values).max(axis=1, keepdims=True)
    q = (round_away(values * reciprocal(d)) + np.float32(1)).astype(np.uint8).reshape(-1, 2, 4, 32)
    shifts = np.array([0, 2, 4, 6], np.uint8)
    blocks = np.empty(len(values), LAYOUT)
    blocks["d"] = d[:, 0]
    blocks["q"] = np.bitwise_or.reduce(q << shifts[:, None], axis=2)
    return blocks


TQ2_0 = Format("TQ2_0", 35, 256, LAYOUT, decode, encode)
