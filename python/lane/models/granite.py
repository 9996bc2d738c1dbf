"""granite: llama's blocks with scales on the embeddings, every residual branch, attention scores and logits."""

from __future__ import annotations

from dataclasses import dataclass

from lane.launch.meaning.attention import RopeLayout
from lane.models.architecture import Architecture, Config
from lane.models.blocks import AttentionStyle, freq_factors, scaled_decoder
from lane.models.dense import (
    FREQ_FACTORS,
    LLAMA_TENSORS,
    DenseConfig,
    Scales,
    read_dense,
    read_scale,
    read_scales,
)
from lane.models.hparams import Hparams
from lane.models.step import StepBuilder


@dataclass(frozen=True)
class GraniteConfig(DenseConfig):
    """What a granite file says."""

    rotates: bool
    attention_scale: float
    scales: Scales


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
        scales=read_scales(hparams, embedding=1.0, residual=1.0, logits=None),
    )


def build(b: StepBuilder, c: Config) -> str:
    """Adds a step's ops."""
    assert isinstance(c, GraniteConfig)
    tables = b.rotation("rope", c.rotation, freq_factors(b)) if c.rotates else None
    style = AttentionStyle(tables, RopeLayout.INTERLEAVED, c.attention_scale)
    return scaled_decoder(b, c.shape, style, c.scales)


GRANITE = Architecture(
    "granite",
    read,
    LLAMA_TENSORS + FREQ_FACTORS,
    build,
)
