"""minicpm: MiniCPM 1, 2 and 4. llama's blocks with scales on the embeddings, every residual branch and the logits.

Files of the first converters carry no scales: theirs are the constants of MiniCPM 1 and 2 (arXiv:2404.06395). Files of
MiniCPM 4 may scale RoPE by longrope's factors.
"""

from __future__ import annotations

from dataclasses import dataclass

from lane.launch.meaning.attention import RopeLayout
from lane.models.architecture import Architecture, Config
from lane.models.blocks import AttentionStyle, context_factors, scaled_decoder
from lane.models.dense import (
    CONTEXT_FACTORS,
    LLAMA_TENSORS,
    DenseConfig,
    Scales,
    dense_config,
    read_scales,
    read_shape,
)
from lane.models.hparams import Hparams
from lane.models.rotation import KINDS, LONGROPE
from lane.models.step import StepBuilder

EMBEDDING_SCALE = 12.0
DEPTH_SCALE = 1.4  # of a residual branch, over the root of the number of layers
BASE_WIDTH = 256  # the width whose logits are not scaled


@dataclass(frozen=True)
class MinicpmConfig(DenseConfig):
    """What a minicpm file says."""

    scales: Scales


def read(hparams: Hparams) -> MinicpmConfig:
    """Reads the keys."""
    c = dense_config(hparams, read_shape(hparams), (*KINDS, LONGROPE))
    scales = read_scales(hparams, EMBEDDING_SCALE, DEPTH_SCALE / c.layers**0.5, c.shape.embd / BASE_WIDTH)
    return MinicpmConfig(c.layers, c.context, c.dims, c.shape, c.rotation, scales)


def build(b: StepBuilder, c: Config) -> str:
    """Adds a step's ops."""
    assert isinstance(c, MinicpmConfig)
    tables = b.rotation("rope", c.rotation, context_factors(b, c.rotation))
    return scaled_decoder(b, c.shape, AttentionStyle(tables, RopeLayout.INTERLEAVED, c.shape.hd**-0.5), c.scales)


MINICPM = Architecture(
    "minicpm",
    read,
    LLAMA_TENSORS + CONTEXT_FACTORS,
    build,
)
