"""The twelve bytes in which Q4_K and Q5_K hold the six-bit scales and minima of a block's eight groups.

Groups 0 to 3 have their scale in the low six bits of bytes 0 to 3 and their minimum in those of bytes 4 to 7.
Groups 4 to 7 have four bits of each in bytes 8 to 11, the scale's below the minimum's, and the other two at
the top of the byte that holds the same number of group 0 to 3.
"""

import numpy as np
from numpy.typing import NDArray

from lane.quant.bits import scale
from lane.quant.format import Blocks, Values


def scales_and_mins(blocks: Blocks) -> tuple[Values, Values]:
    """(n, 8) scales d · scale and (n, 8) minima dmin · min of blocks that have those three fields."""
    packed = blocks["scales"]
    nibbles = packed[:, 8:]
    scales = _six_bits(packed[:, 0:4], nibbles & np.uint8(15))
    mins = _six_bits(packed[:, 4:8], nibbles >> np.uint8(4))
    return scale(blocks, "d") * scales, scale(blocks, "dmin") * mins


def _six_bits(first: NDArray[np.uint8], rest: NDArray[np.uint8]) -> Values:
    whole = first & np.uint8(63)
    joined = rest | ((first >> np.uint8(6)) << np.uint8(4))
    return np.concatenate([whole, joined], axis=1).astype(np.float32)
