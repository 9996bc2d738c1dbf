"""gemma: pre-norm blocks, embeddings scaled by √width, RoPE on split halves, a GELU gate, a tied head."""

from __future__ import annotations

import math
from dataclasses import replace

from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import UnaryOp
from lane.models.architecture import Architecture, need
from lane.models.blocks import AttentionStyle, gated_ffn, pre_norm_decoder
from lane.models.dense import ATTENTION, EMBEDDING, GATED_FFN, PRE_NORMS, UNSCALED, DenseConfig, read_dense
from lane.models.step import StepBuilder


def build(b: StepBuilder, c: DenseConfig) -> str:
    """Adds a step's ops."""
    style = AttentionStyle(b.rotation("rope", c.rotation), RopeLayout.SPLIT, c.shape.hd**-0.5)
    scales = replace(UNSCALED, embedding=math.sqrt(c.shape.embd))
    return pre_norm_decoder(b, c.shape, lambda _: style, lambda x, i: gated_ffn(b, x, i, UnaryOp.GELU), scales)


GEMMA = Architecture(
    "gemma",
    read_dense,
    EMBEDDING + PRE_NORMS + ATTENTION + GATED_FFN + (need("output_norm.weight", "embd"),),
    build,
)
