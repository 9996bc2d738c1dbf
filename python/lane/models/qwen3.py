"""qwen3: pre-norm blocks, queries and keys normed per head before RoPE on split halves, SwiGLU."""

from __future__ import annotations

from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import UnaryOp
from lane.models.architecture import Architecture, Config
from lane.models.blocks import AttentionStyle, logits, pre_norm_layers
from lane.models.dense import (
    ATTENTION,
    ATTENTION_BIAS,
    EMBEDDING,
    GATED_FFN,
    HEAD,
    HEAD_NORMS,
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


QWEN3 = Architecture(
    "qwen3",
    read_dense,
    EMBEDDING + PRE_NORMS + ATTENTION + ATTENTION_BIAS + HEAD_NORMS + GATED_FFN + HEAD,
    build,
)
