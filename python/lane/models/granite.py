"""granite: llama's blocks with scales on the embeddings, every residual branch, attention scores and logits."""

from __future__ import annotations

from dataclasses import dataclass

from lane.launch.attention import RopeLayout
from lane.launch.elementwise import UnaryOp
from lane.models.architecture import Architecture, Config
from lane.models.blocks import AttentionStyle, freq_factors, logits, pre_norm_layers, scaled
from lane.models.dense import (
    ATTENTION,
    ATTENTION_BIAS,
    EMBEDDING,
    FREQ_FACTORS,
    GATED_FFN,
    GATED_FFN_BIAS,
    HEAD,
    PRE_NORMS,
    DenseConfig,
    read_dense,
    read_scale,
)
from lane.models.hparams import Hparams
from lane.models.step import StepBuilder


@dataclass(frozen=True)
class GraniteConfig(DenseConfig):
    """What a granite file says; logits are divided by their scale."""

    rotates: bool
    attention_scale: float
    embedding_scale: float
    residual_scale: float
    logit_scale: float


def read(hparams: Hparams) -> GraniteConfig:
    """Reads the keys."""
    c = read_dense(hparams)
    return GraniteConfig(
        c.layers,
        c.context,
        c.dims,
        c.shape,
        c.rotation,
        rotates=hparams.flag("rope.scaling.finetuned", True),  # in this architecture alone the key switches RoPE
        attention_scale=read_scale(hparams, "attention.scale", c.shape.hd**-0.5),
        embedding_scale=read_scale(hparams, "embedding_scale", 1.0),
        residual_scale=read_scale(hparams, "residual_scale", 1.0),
        logit_scale=read_scale(hparams, "logit_scale", None),
    )


def build(b: StepBuilder, c: Config) -> str:
    """Adds a step's ops."""
    assert isinstance(c, GraniteConfig)
    tables = b.rotation("rope", c.rotation, freq_factors(b)) if c.rotates else None
    style = AttentionStyle(tables, RopeLayout.INTERLEAVED, c.attention_scale)
    x = b.embed("token_embd.weight", c.embedding_scale)
    x = pre_norm_layers(b, x, c.shape, lambda _: style, UnaryOp.SILU, c.residual_scale)
    return scaled(b, logits(b, x, c.shape.eps), 1.0 / c.logit_scale)


GRANITE = Architecture(
    "granite",
    read,
    EMBEDDING + PRE_NORMS + ATTENTION + ATTENTION_BIAS + GATED_FFN + GATED_FFN_BIAS + HEAD + FREQ_FACTORS,
    build,
)
