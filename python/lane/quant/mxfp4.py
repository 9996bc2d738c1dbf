"""MXFP4 (OCP Microscaling Formats v1.0): 32 four-bit floats (E2M1) under one power of two (E8M0).

x = 2^(e - 128) · v[q], where v holds the E2M1 values doubled, so that they are integers. Every exponent is a
number: 255, which the paper gives to NaN, is 2^127 here. Byte i of q holds value i below value i + 16.
"""

import numpy as np

from lane.quant.bits import planes, scaled
from lane.quant.format import SLAB_ELEMS, Blocks, Format, Values
from lane.quant.table import Table

LAYOUT = np.dtype([("e", "u1"), ("q", "u1", 16)])

E2M1 = Table("e2m1_doubled", lambda: np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], np.int8))

# Blocks whose errors against all 16 codes are made at a time: as many numbers as a slab has.
ERROR_BLOCKS = SLAB_ELEMS // (16 * 32)


def decode(blocks: Blocks) -> Values:
    return scaled(_scale(blocks["e"])[:, None], E2M1[planes(blocks["q"], 4)])


def encode(values: Values) -> Blocks:
    """The largest size is in [8, 16) units of the scale (v ends at 12); a value takes the nearest code."""
    largest = np.abs(values).max(axis=1)
    exponent = np.floor(np.log2(largest)) + np.float32(125)
    blocks = np.empty(len(values), LAYOUT)
    # Exponents end at 0, for sizes below 2^-124 and for zero, whose logarithm is -inf.
    blocks["e"] = np.maximum(exponent, np.float32(0))
    reach = _scale(blocks["e"])[:, None] * E2M1.values.astype(np.float32)
    for start in range(0, len(values), ERROR_BLOCKS):
        part = slice(start, start + ERROR_BLOCKS)
        errors = np.abs(reach[part, None, :] - values[part, :, None])
        q = errors.argmin(axis=2).astype(np.uint8)
        blocks["q"][part] = q[:, :16] | (q[:, 16:] << np.uint8(4))
    return blocks


def _scale(exponents: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> Values:
    return np.ldexp(np.float32(1), exponents.astype(np.int32) - 128)


MXFP4 = Format("MXFP4", 39, 32, LAYOUT, decode, encode, (E2M1,))
