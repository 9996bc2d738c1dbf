"""minicpm: MiniCPM 1, 2 and 4. llama's blocks with scales on the embeddings, every residual branch and the logits.

Files of the first converters carry no scales: theirs are the constants of MiniCPM 1 and 2 (arXiv:2404.06395). Files of
MiniCPM 4 may scale RoPE by longrope's factors.
"""

from __future__ import annotations

from dataclasses import dataclass

from lane.launch.attention import RopeLayout
from lane.launch.elementwise import UnaryOp
from lane.models.architecture import Architecture, Config
from lane.models.blocks import AttentionStyle, context_factors, logits, pre_norm_layers, scaled
from lane.models.dense import (
    ATTENTION,
    ATTENTION_BIAS,
    CONTEXT_FACTORS,
    EMBEDDING,
    GATED_FFN,
    GATED_FFN_BIAS,
    HEAD,
    PRE_NORMS,
    DenseConfig,
    dense_config,
    read_scale,
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
    """What a minicpm file says; logits are divided by their scale."""

    embedding_scale: float
    residual_scale: float
    logit_scale: float


def read(hparams: Hparams) -> MinicpmConfig:
    """Reads the keys."""
    c = dense_config(hparams, read_shape(hparams), (*KINDS, LONGROPE))
    return MinicpmConfig(
        c.layers,
        c.context,
        c.dims,
        c.shape,
        c.rotation,
        embedding_scale=read_scale(hparams, "embedding_scale", EMBEDDING_SCALE),
        residual_scale=read_scale(hparams, "residual_scale", DEPTH_SCALE / c.layers**0.5),
        logit_scale=read_scale(hparams, "logit_scale", c.shape.embd / BASE_WIDTH),
    )


def build(b: StepBuilder, c: Config) -> str:
    """Adds a step's ops."""
    assert isinstance(c, MinicpmConfig)
    tables = b.rotation("rope", c.rotation, context_factors(b, c.rotation))
    style = AttentionStyle(tables, RopeLayout.INTERLEAVED, c.shape.hd**-0.5)
    x = b.embed("token_embd.weight", c.embedding_scale)
    x = pre_norm_layers(b, x, c.shape, lambda _: style, UnaryOp.SILU, c.residual_scale)
    return scaled(b, logits(b, x, c.shape.eps), 1.0 / c.logit_scale)


MINICPM = Architecture(
    "minicpm",
    read,
    EMBEDDING + CONTEXT_FACTORS + PRE_NORMS + ATTENTION + ATTENTION_BIAS + GATED_FFN + GATED_FFN_BIAS + HEAD,
    build,
)
