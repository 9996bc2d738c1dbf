"""qwen2: Qwen 2 and 2.5. Pre-norm blocks, biases on queries, keys and values, RoPE on split halves, SwiGLU."""

from __future__ import annotations

from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import UnaryOp
from lane.models.architecture import Architecture, may
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


def build(b: StepBuilder, c: DenseConfig) -> str:
    """Adds a step's ops."""
    style = AttentionStyle(b.rotation("rope", c.rotation), RopeLayout.SPLIT, c.shape.hd**-0.5)
    return pre_norm_decoder(b, c.shape, lambda _: style, lambda x, i: gated_ffn(b, x, i, UnaryOp.SILU))


QWEN2 = Architecture(
    "qwen2",
    read_dense,
    EMBEDDING + PRE_NORMS + ATTENTION + ATTENTION_BIAS + GATED_FFN + HEAD + (may("output.bias", "vocab"),),
    build,
)
