"""IQ4_NL: 32 four-bit indices into a list of 16 unevenly spaced values, and one scale. x = d · v[q].

Byte i of q holds value i below value i + 16.
"""

import numpy as np

from lane.quant.bits import planes, scale, scaled
from lane.quant.format import Blocks, Format, Values
from lane.quant.table import Table

LAYOUT = np.dtype([("d", "<f2"), ("q", "u1", 16)])

LEVELS = Table(
    "iq4_levels",
    lambda: np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.int8),
)


def decode(blocks: Blocks) -> Values:
    return scaled(scale(blocks, "d"), LEVELS[planes(blocks["q"], 4)])


IQ4_NL = Format("IQ4_NL", 20, 32, LAYOUT, decode, tables=(LEVELS,))
