"""Decoded values equal gguf-py's, bit for bit, on random blocks and on every pattern of every scale.

NaNs are compared by their bits too. IEEE 754 leaves it open which NaN a sum of two gives, but on one machine
it is the first operand's or the second's by how numpy's loop is compiled, and both decoders put the same
numbers through the same loops in the same order.
"""

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lane.errors import UsageError
from lane.quant.format import SLAB_ELEMS, Bytes, Format
from lane.quant.registry import FORMATS, format_named

# gguf-py's decoders do not silence what infinite scales provoke.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

ALL = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)

# f16 scales to try in pairs: zeros, the least subnormal and normal, one, the greatest, infinities, quiet and
# signalling NaNs of either sign.
SPECIAL = np.array(
    [
        0x0000,
        0x8000,
        0x0001,
        0x8001,
        0x0400,
        0x3C00,
        0xBC00,
        0x7BFF,
        0xFBFF,
        0x7C00,
        0xFC00,
        0x7C01,
        0xFD55,
        0x7E00,
        0xFFFF,
    ],
    np.uint16,
)


def random_blocks(format: Format, count: int, seed: int) -> Bytes:
    return np.random.default_rng(seed).integers(0, 256, (count, format.block_bytes), dtype=np.uint8)


def half_fields(format: Format) -> list[int]:
    """Where the block's f16 fields lie, in bytes."""
    offsets = []
    for kind, offset, *_ in (format.layout.fields or {}).values():
        if kind == np.float16:
            offsets.append(offset)
    return offsets


def put_word(blocks: Bytes, offset: int, words: np.ndarray) -> None:
    blocks[:, offset : offset + 2] = words.astype("<u2").view(np.uint8).reshape(-1, 2)


def check(format: Format, rows: Bytes) -> None:
    expected = gguf.quants.dequantize(rows, gguf.GGMLQuantizationType[format.name])
    found = format.decode(rows)
    assert found.dtype == np.float32
    assert found.shape == (rows.shape[0], rows.shape[1] // format.block_bytes * format.block_elems)
    np.testing.assert_array_equal(found.view(np.uint32), expected.reshape(found.shape).view(np.uint32))


@ALL
def test_random_blocks(format: Format) -> None:
    check(format, random_blocks(format, 37 * 12, seed=1).reshape(37, -1))


@ALL
def test_every_value_of_every_byte(format: Format) -> None:
    """Of each byte of the block in turn: so of every sub-scale, exponent, sign mask and index byte."""
    blocks = random_blocks(format, 256 * format.block_bytes, seed=2)
    for place in range(format.block_bytes):
        blocks[256 * place : 256 * (place + 1), place] = np.arange(256)
    check(format, blocks)


@ALL
def test_blocks_of_one_byte(format: Format) -> None:
    check(format, np.repeat(np.arange(256, dtype=np.uint8)[:, None], 4 * format.block_bytes, axis=1))


@pytest.mark.parametrize(
    ("format", "offset"),
    [pytest.param(f, offset, id=f"{f.name}-{offset}") for f in FORMATS for offset in half_fields(f)],
)
def test_every_half_scale(format: Format, offset: int) -> None:
    blocks = random_blocks(format, 1 << 16, seed=3)
    put_word(blocks, offset, np.arange(1 << 16, dtype=np.uint16))
    check(format, blocks)


@pytest.mark.parametrize("name", ["Q4_1", "Q5_1", "Q2_K", "Q4_K", "Q5_K"])
def test_special_scales_in_pairs(name: str) -> None:
    format = format_named(name)
    first, second = half_fields(format)
    blocks = random_blocks(format, len(SPECIAL) ** 2, seed=4)
    put_word(blocks, first, np.repeat(SPECIAL, len(SPECIAL)))
    put_word(blocks, second, np.tile(SPECIAL, len(SPECIAL)))
    check(format, blocks)


def test_every_scattered_scale_of_iq1_m() -> None:
    """Its f16 lies in the top four bits of four words, the lowest first."""
    format = format_named("IQ1_M")
    blocks = random_blocks(format, 1 << 16, seed=5)
    words = blocks[:, 48:].view("<u2")
    for quarter in range(4):
        nibble = (np.arange(1 << 16) >> (4 * quarter)) & 15
        words[:, quarter] = (words[:, quarter] & 0x0FFF) | (nibble << 12)
    check(format, blocks)


@pytest.mark.parametrize("name", ["F16", "BF16"])
def test_every_sixteen_bit_value(name: str) -> None:
    check(format_named(name), np.arange(1 << 16, dtype="<u2").view(np.uint8).reshape(16, -1))


@ALL
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_bytes(format: Format, data: st.DataObject) -> None:
    rows, per_row = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 4))
    size = rows * per_row * format.block_bytes
    octets = data.draw(st.binary(min_size=size, max_size=size))
    check(format, np.frombuffer(octets, np.uint8).reshape(rows, -1))


@ALL
def test_rows_longer_than_a_slab(format: Format) -> None:
    """Two rows and a block that no slab's bound divides evenly, read from a strided, read-only array."""
    per_row = SLAB_ELEMS // format.block_elems + 1
    rows = random_blocks(format, 4 * per_row, seed=6).reshape(4, -1)[::2]
    rows.flags.writeable = False
    check(format, rows)


@ALL
def test_no_rows_and_empty_rows(format: Format) -> None:
    assert format.decode(np.empty((0, 2 * format.block_bytes), np.uint8)).shape == (0, 2 * format.block_elems)
    assert format.decode(np.empty((3, 0), np.uint8)).shape == (3, 0)


@pytest.mark.parametrize(
    "rows",
    [np.zeros((2, 35), np.uint8), np.zeros(34, np.uint8), np.zeros((2, 34), np.int8)],
    ids=["part of a block", "one dimension", "wrong type"],
)
def test_refused(rows: Bytes) -> None:
    with pytest.raises(
        UsageError, match=r"quant: decode Q8_0: found .* allowed uint8 \(rows, a multiple of 34 bytes\)"
    ):
        format_named("Q8_0").decode(rows)
