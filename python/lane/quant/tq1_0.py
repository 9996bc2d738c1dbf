"""TQ1_0: 256 values of -1, 0 or 1 and one scale; a byte holds five, as one number of base 3. x = d · (t - 1).

A byte is the fraction t0/3 + t1/9 + … in 256ths, rounded up: times 3, its digits come off the top one by one.
The first 32 bytes hold values 0 to 159 in five runs of 32, the next 16 values 160 to 239 in five runs of 16,
the last four values 240 to 255 in four runs of four.
"""

import numpy as np
from numpy.typing import NDArray

from lane.quant.bits import scale, scaled
from lane.quant.format import Blocks, Format, Values
from lane.quant.rounding import reciprocal, round_away

PARTS = (("wide", 32, 5), ("narrow", 16, 5), ("last", 4, 4))  # field, bytes, values a byte
LAYOUT = np.dtype([*((field, "u1", count) for field, count, _ in PARTS), ("d", "<f2")])


def decode(blocks: Blocks) -> Values:
    digits = [_digits(blocks[field], per_byte) for field, _, per_byte in PARTS]
    return scaled(scale(blocks, "d"), np.concatenate(digits, axis=1))


def encode(values: Values) -> Blocks:
    d = np.abs(values).max(axis=1, keepdims=True)
    digits = (round_away(values * reciprocal(d)) + np.float32(1)).astype(np.uint16)
    blocks = np.empty(len(values), LAYOUT)
    blocks["d"] = d[:, 0]
    start = 0
    for field, count, per_byte in PARTS:
        run = digits[:, start : start + count * per_byte].reshape(-1, per_byte, count)
        blocks[field] = _fractions(run)
        start += count * per_byte
    return blocks


def _digits(octets: NDArray[np.uint8], per_byte: int) -> NDArray[np.int8]:
    """(n, k) bytes as (n, per_byte·k) digits less one."""
    powers = np.array([3**place for place in range(per_byte)], np.uint8)
    rest = octets[:, None, :] * powers[:, None]  # modulo 256: the digits already taken fall off the top
    digits = (rest.astype(np.uint16) * np.uint16(3)) >> np.uint16(8)
    return (digits.astype(np.int8) - np.int8(1)).reshape(len(octets), -1)


def _fractions(digits: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """(n, per_byte, k) digits as (n, k) bytes; a byte of four digits has a fifth of zero."""
    number = np.zeros((len(digits), digits.shape[2]), np.uint16)
    for place in range(5):
        number = number * np.uint16(3)
        if place < digits.shape[1]:
            number = number + digits[:, place]
    return ((number * np.uint16(256) + np.uint16(242)) // np.uint16(243)).astype(np.uint8)


TQ1_0 = Format("TQ1_0", 34, 256, LAYOUT, decode, encode)
