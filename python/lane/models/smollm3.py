"""smollm3: llama's blocks with every fourth layer unrotated (no key says so)."""

from __future__ import annotations

from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import UnaryOp
from lane.models.architecture import Architecture
from lane.models.blocks import AttentionStyle, gated_ffn, pre_norm_decoder
from lane.models.dense import (
    ATTENTION,
    ATTENTION_BIAS,
    EMBEDDING,
    GATED_FFN,
    HEAD,
    PRE_NORMS,
    DenseConfig,
    read_dense,
)
from lane.models.step import StepBuilder

PERIOD = 4  # the last of every four layers is not rotated


def build(b: StepBuilder, c: DenseConfig) -> str:
    """Adds a step's ops."""
    scale = c.shape.hd**-0.5
    rotated = AttentionStyle(b.rotation("rope", c.rotation), RopeLayout.INTERLEAVED, scale)
    unrotated = AttentionStyle(None, RopeLayout.INTERLEAVED, scale)

    def style(layer: int) -> AttentionStyle:
        return unrotated if layer % PERIOD == PERIOD - 1 else rotated

    return pre_norm_decoder(b, c.shape, style, lambda x, i: gated_ffn(b, x, i, UnaryOp.SILU))


SMOLLM3 = Architecture(
    "smollm3",
    read_dense,
    EMBEDDING + PRE_NORMS + ATTENTION + ATTENTION_BIAS + GATED_FFN + HEAD,
    build,
)
