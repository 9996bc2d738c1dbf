"""minicpm: MiniCPM 1, 2 and 4. llama's blocks with scales on the embeddings, every residual branch and the logits.

Files of the first converters carry no scales: theirs are the constants of MiniCPM 1 and 2 (arXiv:2404.06395). Files of
MiniCPM 4 may scale RoPE by longrope's factors.
"""

from __future__ import annotations

from dataclasses import dataclass

from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import UnaryOp
from lane.models.architecture import Architecture, Config
from lane.models.blocks import AttentionStyle, context_factors, gated_ffn, pre_norm_decoder
from lane.models.dense import (
    CONTEXT_FACTORS,
    LLAMA_TENSORS,
    Scales,
    read_scales,
)
from lane.models.hparams import Hparams
from lane.models.rotation import KINDS, LONGROPE, Rotation, read_rotation
from lane.models.shape import read_shape
from lane.models.step import StepBuilder

EMBEDDING_SCALE = 12.0
DEPTH_SCALE = 1.4  # of a residual branch, over the root of the number of layers
BASE_WIDTH = 256  # the width whose logits are not scaled


@dataclass(frozen=True)
class MinicpmConfig(Config):
    """What a minicpm file says."""

    rotation: Rotation
    scales: Scales


def read(hparams: Hparams) -> MinicpmConfig:
    """Reads the keys."""
    shape = read_shape(hparams)
    rotation = read_rotation(hparams, shape.rotated, shape.context, (*KINDS, LONGROPE))
    scales = read_scales(hparams, EMBEDDING_SCALE, DEPTH_SCALE / shape.layers**0.5, shape.embd / BASE_WIDTH)
    return MinicpmConfig(shape, rotation, scales)


def build(b: StepBuilder, c: MinicpmConfig) -> str:
    """Adds a step's ops."""
    tables = b.rotation("rope", c.rotation, context_factors(b, c.rotation))
    style = AttentionStyle(tables, RopeLayout.INTERLEAVED, c.shape.hd**-0.5)
    return pre_norm_decoder(b, c.shape, lambda _: style, lambda x, i: gated_ffn(b, x, i, UnaryOp.SILU), c.scales)


MINICPM = Architecture(
    "minicpm",
    read,
    LLAMA_TENSORS + CONTEXT_FACTORS,
    build,
)
