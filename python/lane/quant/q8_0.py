"""Q8_0: 32 int8 values and one scale. x = d · q, with d = max|x| / 127."""

import numpy as np

from lane.quant.bits import scale, scaled
from lane.quant.format import Blocks, Format, Values
from lane.quant.rounding import reciprocal, round_away

LAYOUT = np.dtype([("d", "<f2"), ("q", "i1", 32)])


def decode(blocks: Blocks) -> Values:
    return scaled(scale(blocks, "d"), blocks["q"])


def encode(values: Values) -> Blocks:
    d = np.abs(values).max(axis=1, keepdims=True) / np.float32(127)
    blocks = np.empty(len(values), LAYOUT)
    blocks["d"] = d[:, 0]
    blocks["q"] = round_away(values * reciprocal(d))
    return blocks


Q8_0 = Format("Q8_0", 8, 32, LAYOUT, decode, encode)
