"""Encoded bytes equal gguf-py's wherever those are defined; elsewhere the block means what it should."""

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lane.errors import UsageError
from lane.quant.format import SLAB_ELEMS, Format, Values
from lane.quant.registry import FORMATS, format_named

ENCODED = [format for format in FORMATS if format.encode_blocks is not None]
BLOCKS = [format for format in ENCODED if format.block_elems > 1]
FLOATS = [format for format in ENCODED if format.block_elems == 1]

each_encoded = pytest.mark.parametrize("format", ENCODED, ids=lambda format: format.name)
each_block = pytest.mark.parametrize("format", BLOCKS, ids=lambda format: format.name)

# gguf-py does not silence overflow on the way to f16, nor NaN operands.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def check(format: Format, values: Values) -> None:
    expected = gguf.quants.quantize(values, gguf.GGMLQuantizationType[format.name]).view(np.uint8)
    np.testing.assert_array_equal(format.encode(values), expected.reshape(len(values), -1))


def normals(rows: int, cols: int, seed: int) -> Values:
    return np.random.default_rng(seed).standard_normal((rows, cols), dtype=np.float32)


@each_encoded
def test_random_values_of_many_sizes(format: Format) -> None:
    """A row a power of two, from scales that are zero in f16 to those just within it."""
    sizes = np.exp2(np.arange(-80, 14, dtype=np.float32))[:, None]
    check(format, normals(len(sizes), 1024, seed=1) * sizes)


@each_encoded
def test_ties_and_flat_blocks(format: Format) -> None:
    """Multiples of a half under extremes that make the scale exact; all values alike; zeros of both signs."""
    halves = np.random.default_rng(2).integers(-254, 255, (8, 1024)).astype(np.float32) / np.float32(2)
    halves[:, ::32] = 127
    halves[4:, ::32] = -128
    flat = np.repeat(np.array([[1.5], [-1.5], [0.0], [-0.0]], np.float32), 1024, axis=1)
    check(format, np.concatenate([halves, flat]))


@each_encoded
def test_rows_longer_than_a_slab(format: Format) -> None:
    check(format, normals(3, SLAB_ELEMS + format.block_elems, seed=3))


@each_encoded
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_any_values(format: Format, data: st.DataObject) -> None:
    """Sizes up to 60,000, so that twice that over 15 fits an f16; none under 2^-100, see below."""
    sizes = st.floats(2.0**-100, 60000, width=32)
    number = st.one_of(st.just(0.0), sizes, sizes.map(lambda x: -x))
    check(format, data.draw(hnp.arrays(np.float32, (1, max(32, format.block_elems)), elements=number)))


@pytest.mark.parametrize("format", FLOATS, ids=lambda format: format.name)
def test_any_bits_of_a_float(format: Format) -> None:
    """NaNs, infinities and what overflows included, and around every bound between two bfloat16 values."""
    bits = np.random.default_rng(4).integers(0, 1 << 32, (8, 4096), dtype=np.uint32)
    uppers = np.arange(1 << 16, dtype=np.uint32)[:, None] << 16
    bounds = uppers | np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    for words in (bits, bounds):
        check(format, words.view(np.float32))


@each_block
def test_sizes_whose_reciprocal_overflows(format: Format) -> None:
    """1/d is infinite below 2^-128, where gguf-py casts NaN to bytes. Here such blocks come back as zeros.

    Or as values of MXFP4, whose least scale is 2^-128: then each to within half of a code's distance to the
    next.
    """
    values = normals(4, 256, seed=5) * np.float32(2.0**-133)
    values[0, 0] = np.float32(2.0**-149)
    found = format.decode(format.encode(values))
    if format.name == "MXFP4":
        assert np.abs(found - values).max() <= 2.0**-129
    else:
        np.testing.assert_array_equal(found, np.zeros_like(values))


@each_block
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_values_that_are_not_finite_are_refused(format: Format, value: float) -> None:
    values = normals(2, 256, seed=6)
    values[1, 77] = value
    with pytest.raises(UsageError, match=f"quant: encode {format.name}: found the value {value}, allowed finite"):
        format.encode(values)


@pytest.mark.parametrize("format", [f for f in BLOCKS if f.name != "MXFP4"], ids=lambda format: format.name)
def test_scales_beyond_f16_are_refused(format: Format) -> None:
    values = normals(2, 256, seed=7)
    values[1, 200] = -3e7
    message = f"quant: encode {format.name}: found a value of size 30000000.0, .* allowed a [dm] of at most 65504"
    with pytest.raises(UsageError, match=message):
        format.encode(values)


def test_misshapen_values_and_absent_quantisers_are_refused() -> None:
    with pytest.raises(UsageError, match=r"quant: encode Q4_0: found float32 \(2, 33\), allowed float32"):
        format_named("Q4_0").encode(np.zeros((2, 33), np.float32))
    with pytest.raises(UsageError, match="quant: encode Q4_0: found float64"):
        format_named("Q4_0").encode(np.zeros((2, 32)))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="quant: encode Q4_K: this format has no quantiser"):
        format_named("Q4_K").encode(np.zeros((2, 256), np.float32))
