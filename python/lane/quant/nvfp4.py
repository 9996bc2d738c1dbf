"""NVFP4: 64 four-bit floats (E2M1) in groups of 16, each under an eight-bit float without sign (E4M3).

x = s · v[q], where v holds the E2M1 values doubled, so that they are integers, and s is half the scale: with
e its exponent and m its mantissa, 2^(e - 11) · (8 + m), or 2^-10 · m where e is 0. The top bit of a scale is
not read, save that only 0x7F, the type's NaN, is 0 (0xFF is 240). Eight bytes of q hold a group in two
planes.
"""

import numpy as np

from lane.quant.bits import planes, scaled
from lane.quant.format import Blocks, Format, Values
from lane.quant.mxfp4 import E2M1

LAYOUT = np.dtype([("scales", "u1", 4), ("q", "u1", (4, 8))])


def decode(blocks: Blocks) -> Values:
    packed = blocks["scales"]
    exponent = ((packed >> np.uint8(3)) & np.uint8(15)).astype(np.int32)
    mantissa = (packed & np.uint8(7)).astype(np.float32)
    number = np.where(exponent > 0, mantissa + np.float32(8), mantissa)
    half = np.ldexp(number, np.maximum(exponent, 1) - 11)
    scales = np.where(packed == 0x7F, np.float32(0), half)
    return scaled(scales, E2M1[planes(blocks["q"], 4)])


NVFP4 = Format("NVFP4", 40, 64, LAYOUT, decode, tables=(E2M1,))
