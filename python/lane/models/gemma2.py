"""gemma2: gemma with sandwich norms, soft caps on attention scores and logits, and a window in every other layer."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import UnaryOp
from lane.models.architecture import Architecture, Config, need
from lane.models.blocks import AttentionStyle, logits, sandwich_layers, soft_capped
from lane.models.dense import (
    ATTENTION,
    EMBEDDING,
    GATED_FFN,
    POST_NORMS,
    PRE_NORMS,
    DenseConfig,
    read_cap,
    read_dense,
    read_windows,
)
from lane.models.hparams import Hparams
from lane.models.step import StepBuilder

PERIOD = 2  # the second of every two layers sees everything
WINDOW = 4096  # of files that name none
ATTENTION_CAP = 50.0  # likewise
LOGIT_CAP = 30.0

LAYERS_27B = 46  # the one size whose queries are scaled by √(width / heads); no key says so


@dataclass(frozen=True)
class Gemma2Config(DenseConfig):
    """What a gemma2 file says."""

    windows: tuple[int, ...]
    scale: float
    attention_cap: float
    logit_cap: float


def read(hparams: Hparams) -> Gemma2Config:
    """Reads the keys."""
    c = read_dense(hparams)
    width = c.shape.embd // c.shape.heads if c.layers == LAYERS_27B else c.shape.hd
    return Gemma2Config(
        c.layers,
        c.context,
        c.dims,
        c.shape,
        c.rotation,
        windows=read_windows(hparams, c.layers, PERIOD, WINDOW),
        scale=width**-0.5,
        attention_cap=read_cap(hparams, "attn_logit_softcapping", ATTENTION_CAP),
        logit_cap=read_cap(hparams, "final_logit_softcapping", LOGIT_CAP),
    )


def build(b: StepBuilder, c: Config) -> str:
    """Adds a step's ops."""
    assert isinstance(c, Gemma2Config)
    tables = b.rotation("rope", c.rotation)

    def style(layer: int) -> AttentionStyle:
        return AttentionStyle(tables, RopeLayout.SPLIT, c.scale, c.windows[layer], c.attention_cap)

    x = b.embed("token_embd.weight", math.sqrt(c.shape.embd))
    x = sandwich_layers(b, x, c.shape, style, UnaryOp.GELU)
    return soft_capped(b, logits(b, x, c.shape.eps), c.logit_cap)


GEMMA2 = Architecture(
    "gemma2",
    read,
    EMBEDDING + PRE_NORMS + ATTENTION + POST_NORMS + GATED_FFN + (need("output_norm.weight", "embd"),),
    build,
)
