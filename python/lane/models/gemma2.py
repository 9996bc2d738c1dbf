"""gemma2: gemma with sandwich norms, soft caps on attention scores and logits, and a window in every other layer."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import UnaryOp
from lane.models.architecture import Architecture, Config, need
from lane.models.blocks import SANDWICH, AttentionStyle, attention, decoder, gated_ffn, logits, soft_capped
from lane.models.dense import (
    ATTENTION,
    EMBEDDING,
    GATED_FFN,
    POST_NORMS,
    PRE_NORMS,
    read_cap,
    read_windows,
)
from lane.models.hparams import Hparams
from lane.models.rotation import Rotation, read_rotation
from lane.models.shape import read_shape
from lane.models.step import StepBuilder

PERIOD = 2  # the second of every two layers sees everything
WINDOW = 4096  # of files that name none
ATTENTION_CAP = 50.0  # likewise
LOGIT_CAP = 30.0

LAYERS_27B = 46  # the one size whose queries are scaled by √(width / heads); no key says so


@dataclass(frozen=True)
class Gemma2Config(Config):
    """What a gemma2 file says."""

    rotation: Rotation
    windows: tuple[int, ...]
    scale: float
    attention_cap: float
    logit_cap: float


def read(hparams: Hparams) -> Gemma2Config:
    """Reads the keys."""
    shape = read_shape(hparams)
    width = shape.embd // shape.heads[0] if shape.layers == LAYERS_27B else shape.hd
    return Gemma2Config(
        shape,
        read_rotation(hparams, shape.rotated, shape.context),
        windows=read_windows(hparams, shape.layers, PERIOD, WINDOW),
        scale=width**-0.5,
        attention_cap=read_cap(hparams, "attn_logit_softcapping", ATTENTION_CAP),
        logit_cap=read_cap(hparams, "final_logit_softcapping", LOGIT_CAP),
    )


def build(b: StepBuilder, c: Gemma2Config) -> str:
    """Adds a step's ops."""
    tables = b.rotation("rope", c.rotation)

    def attention_of(x: str, layer: int) -> str:
        style = AttentionStyle(tables, RopeLayout.SPLIT, c.scale, c.windows[layer], c.attention_cap)
        return attention(b, x, layer, c.shape.at(layer), style)

    x = b.embed("token_embd.weight", math.sqrt(c.shape.embd))
    x = decoder(b, x, c.shape, attention_of, lambda y, i: gated_ffn(b, y, i, UnaryOp.GELU), hung=SANDWICH)
    return soft_capped(b, logits(b, x, c.shape.eps), c.logit_cap)


GEMMA2 = Architecture(
    "gemma2",
    read,
    EMBEDDING + PRE_NORMS + ATTENTION + POST_NORMS + GATED_FFN + (need("output_norm.weight", "embd"),),
    build,
)
