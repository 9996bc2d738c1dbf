"""BF16: the upper half of a float32. Rounded to nearest even; a NaN keeps its sign and is made quiet."""

import numpy as np

from lane.quant.format import Blocks, Format, Values

LAYOUT = np.dtype([("x", "<u2")])

INFINITY = 0x7F800000
QUIET = 0x0040  # the top bit of the seven that remain of a mantissa


def decode(blocks: Blocks) -> Values:
    words = blocks["x"].astype(np.uint32)[:, None] << np.uint32(16)
    return words.view(np.float32)


def encode(values: Values) -> Blocks:
    words = np.ascontiguousarray(values).view(np.uint32)
    upper = words >> np.uint32(16)
    # Half of the last place kept, less one unless the number kept is odd: a tie carries only into an even
    # number. Only a NaN could carry out of 32 bits, and a NaN takes the other branch.
    rounded = (words + (np.uint32(0x7FFF) + (upper & np.uint32(1)))) >> np.uint32(16)
    is_nan = (words & np.uint32(0x7FFFFFFF)) > INFINITY
    return np.where(is_nan, upper | np.uint32(QUIET), rounded).astype("<u2").view(LAYOUT)[:, 0]


BF16 = Format("BF16", 30, 1, LAYOUT, decode, encode)
