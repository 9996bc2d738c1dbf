"""granite: llama's blocks with scales on the embeddings, every residual branch, attention scores and logits."""

from __future__ import annotations

from dataclasses import dataclass

from lane.launch.meaning.attention import RopeLayout
from lane.models.architecture import Architecture, Config
from lane.models.blocks import AttentionStyle, freq_factors, pre_norm_decoder
from lane.models.dense import (
    FREQ_FACTORS,
    LLAMA_TENSORS,
    Scales,
    read_scale,
    read_scales,
)
from lane.models.hparams import Hparams
from lane.models.mixture import Experts, mixture_ffn
from lane.models.rotation import Rotation, read_rotation
from lane.models.shape import read_shape
from lane.models.step import StepBuilder


@dataclass(frozen=True)
class GraniteConfig(Config):
    """What a granite or granitemoe file says; `rotation` is None where nothing is rotated, `experts` in granite."""

    rotation: Rotation | None
    attention_scale: float
    scales: Scales
    experts: Experts | None = None


def read(hparams: Hparams) -> GraniteConfig:
    """Reads the keys."""
    shape = read_shape(hparams)
    rotation = read_rotation(hparams, shape.rotated, shape.context)
    rotates = hparams.flag("rope.scaling.finetuned", True)  # in this architecture alone the key switches RoPE
    return GraniteConfig(
        shape,
        rotation if rotates else None,
        attention_scale=read_scale(hparams, "attention.scale", shape.hd**-0.5),
        scales=read_scales(hparams, embedding=1.0, residual=1.0, logits=None),
    )


def build(b: StepBuilder, c: GraniteConfig) -> str:
    """Adds a step's ops."""
    tables = None if c.rotation is None else b.rotation("rope", c.rotation, freq_factors(b))
    style = AttentionStyle(tables, RopeLayout.INTERLEAVED, c.attention_scale)
    return pre_norm_decoder(b, c.shape, lambda _: style, mixture_ffn(b, c.experts), c.scales)


GRANITE = Architecture(
    "granite",
    read,
    LLAMA_TENSORS + FREQ_FACTORS,
    build,
)
