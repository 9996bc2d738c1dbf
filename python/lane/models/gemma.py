"""gemma: pre-norm blocks, embeddings scaled by √width, RoPE on split halves, a GELU gate, a tied head."""

from __future__ import annotations

import math

from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import UnaryOp
from lane.models.architecture import Architecture, Config, need
from lane.models.blocks import AttentionStyle, logits, pre_norm_layers
from lane.models.dense import ATTENTION, EMBEDDING, GATED_FFN, PRE_NORMS, DenseConfig, read_dense
from lane.models.step import StepBuilder


def build(b: StepBuilder, c: Config) -> str:
    """Adds a step's ops."""
    assert isinstance(c, DenseConfig)
    style = AttentionStyle(b.rotation("rope", c.rotation), RopeLayout.SPLIT, c.shape.hd**-0.5)
    x = b.embed("token_embd.weight", math.sqrt(c.shape.embd))
    x = pre_norm_layers(b, x, c.shape, lambda _: style, UnaryOp.GELU)
    return logits(b, x, c.shape.eps)


GEMMA = Architecture(
    "gemma",
    read_dense,
    EMBEDDING + PRE_NORMS + ATTENTION + GATED_FFN + (need("output_norm.weight", "embd"),),
    build,
)
