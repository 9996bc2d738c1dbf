"""F32: every value as it is."""

import numpy as np

from lane.quant.format import Blocks, Format, Values

LAYOUT = np.dtype([("x", "<f4")])


def decode(blocks: Blocks) -> Values:
    values: Values = blocks["x"][:, None]
    return values


def encode(values: Values) -> Blocks:
    return values.astype("<f4", copy=False).view(LAYOUT)[:, 0]


F32 = Format("F32", 0, 1, LAYOUT, decode, encode)
