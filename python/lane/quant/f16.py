"""F16: IEEE binary16. Rounded to nearest even; what is too large becomes infinite."""

import numpy as np

from lane.quant.bits import scale
from lane.quant.format import Blocks, Format, Values

LAYOUT = np.dtype([("x", "<f2")])


def decode(blocks: Blocks) -> Values:
    return scale(blocks, "x")


def encode(values: Values) -> Blocks:
    return values.astype("<f2").view(LAYOUT)[:, 0]


F16 = Format("F16", 1, 1, LAYOUT, decode, encode)
