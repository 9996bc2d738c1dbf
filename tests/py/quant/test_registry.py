"""The list of formats: names, numbers and geometry are gguf's; lookups find each and refuse the rest."""

import gguf
import numpy as np
import pytest

from lane.errors import UnsupportedError
from lane.quant.format import Format
from lane.quant.registry import FORMATS, format_named

ALL = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)

# Types that no tensor of a checkpoint has a matrix in: whole numbers, f64, those that only activations are
# quantised to, and one-bit values, which no model that lane knows uses.
NOT_FORMATS = {"I8", "I16", "I32", "I64", "F64", "Q8_1", "Q8_K", "Q1_0"}


@ALL
def test_number_and_geometry(format: Format) -> None:
    kind = gguf.GGMLQuantizationType[format.name]
    assert format.type_id == kind
    assert (format.block_elems, format.block_bytes) == gguf.GGML_QUANT_SIZES[kind]


def test_every_type_of_gguf_is_a_format_or_is_known_not_to_be() -> None:
    names = [format.name for format in FORMATS]
    assert len(set(names)) == len(names)
    assert set(names) | NOT_FORMATS == {kind.name for kind in gguf.GGMLQuantizationType}
    assert not set(names) & NOT_FORMATS


@ALL
def test_a_quantiser_exactly_where_gguf_has_one(format: Format) -> None:
    values = np.zeros((1, format.block_elems), np.float32)
    try:
        gguf.quants.quantize(values, gguf.GGMLQuantizationType[format.name])
    except NotImplementedError:  # how gguf-py says that it has none
        assert format.encode_blocks is None
    else:
        assert format.encode_blocks is not None


@ALL
def test_lookups(format: Format) -> None:
    assert format_named(format.name) is format


def test_unknown_formats_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match=r"quant: format 'Q8_K': allowed F32, F16, .*TQ2_0"):
        format_named("Q8_K")


@pytest.mark.parametrize(
    ("name", "instead"), [("Q4_0_4_4", "Q4_0"), ("Q4_0_8_8", "Q4_0"), ("IQ4_NL_4_4", "IQ4_NL"), ("Q4_3", "Q4_1")]
)
def test_a_format_that_was_removed_says_what_to_do(name: str, instead: str) -> None:
    with pytest.raises(UnsupportedError, match=f"'{name}': GGUF has it no longer; allowed {instead} in its place"):
        format_named(name)
