"""The formats, in one ordered list. Adding one is its file, its import and its line here."""

from lane.errors import UnsupportedError
from lane.quant.bf16 import BF16
from lane.quant.f16 import F16
from lane.quant.f32 import F32
from lane.quant.format import Format
from lane.quant.iq1_m import IQ1_M
from lane.quant.iq1_s import IQ1_S
from lane.quant.iq2_s import IQ2_S
from lane.quant.iq2_xs import IQ2_XS
from lane.quant.iq2_xxs import IQ2_XXS
from lane.quant.iq3_s import IQ3_S
from lane.quant.iq3_xxs import IQ3_XXS
from lane.quant.iq4_nl import IQ4_NL
from lane.quant.iq4_xs import IQ4_XS
from lane.quant.mxfp4 import MXFP4
from lane.quant.nvfp4 import NVFP4
from lane.quant.q2_k import Q2_K
from lane.quant.q3_k import Q3_K
from lane.quant.q4_0 import Q4_0
from lane.quant.q4_1 import Q4_1
from lane.quant.q4_k import Q4_K
from lane.quant.q5_0 import Q5_0
from lane.quant.q5_1 import Q5_1
from lane.quant.q5_k import Q5_K
from lane.quant.q6_k import Q6_K
from lane.quant.q8_0 import Q8_0
from lane.quant.tq1_0 import TQ1_0
from lane.quant.tq2_0 import TQ2_0

FORMATS: tuple[Format, ...] = (
    F32,
    F16,
    BF16,
    Q8_0,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q2_K,
    Q3_K,
    Q4_K,
    Q5_K,
    Q6_K,
    MXFP4,
    NVFP4,
    IQ4_NL,
    IQ4_XS,
    IQ3_S,
    IQ3_XXS,
    IQ2_S,
    IQ2_XS,
    IQ2_XXS,
    IQ1_S,
    IQ1_M,
    TQ1_0,
    TQ2_0,
)

_BY_NAME = {format.name: format for format in FORMATS}


# Formats that are no longer GGUF's: what was stored so, other rows of the same blocks, and what it is to be instead.
_REMOVED = {
    "Q4_2": "Q4_0",
    "Q4_3": "Q4_1",
    **dict.fromkeys(("Q4_0_4_4", "Q4_0_4_8", "Q4_0_8_8"), "Q4_0"),
    **dict.fromkeys(("IQ4_NL_4_4", "IQ4_NL_4_8", "IQ4_NL_8_8"), "IQ4_NL"),
}


def format_named(name: str) -> Format:
    """The format that gguf and llama.cpp call `name`; UnsupportedError if lane has none of that name."""
    if name in _REMOVED:
        raise UnsupportedError(
            f"quant: format {name!r}: GGUF has it no longer; allowed {_REMOVED[name]} in its place: fetch the model, "
            "or quantise it anew, in that"
        )
    if name not in _BY_NAME:
        raise UnsupportedError(f"quant: format {name!r}: allowed {', '.join(_BY_NAME)}")
    return _BY_NAME[name]
