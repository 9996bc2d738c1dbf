"""qwen2: Qwen 2 and 2.5. Pre-norm blocks, biases on queries, keys and values, RoPE on split halves, SwiGLU."""

from __future__ import annotations

from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import UnaryOp
from lane.models.architecture import Architecture, Config, may
from lane.models.blocks import AttentionStyle, logits, pre_norm_layers
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


def build(b: StepBuilder, c: Config) -> str:
    """Adds a step's ops."""
    assert isinstance(c, DenseConfig)
    style = AttentionStyle(b.rotation("rope", c.rotation), RopeLayout.SPLIT, c.shape.hd**-0.5)
    x = pre_norm_layers(b, b.embed("token_embd.weight"), c.shape, lambda _: style, UnaryOp.SILU)
    return logits(b, x, c.shape.eps)


QWEN2 = Architecture(
    "qwen2",
    read_dense,
    EMBEDDING + PRE_NORMS + ATTENTION + ATTENTION_BIAS + GATED_FFN + HEAD + (may("output.bias", "vocab"),),
    build,
)
