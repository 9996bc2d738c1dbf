"""gemma3: sandwich norms, per-head query and key norms, a GELU gate, and two kinds of layers.

Five layers in six attend through a window under a rotation of their own base; the sixth sees everything under the
global base, to which alone a scaling applies. Embeddings are scaled by √width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import UnaryOp
from lane.models.architecture import Architecture, Config
from lane.models.blocks import AttentionStyle, logits, sandwich_layers, soft_capped
from lane.models.dense import (
    ATTENTION,
    EMBEDDING,
    GATED_FFN,
    HEAD,
    HEAD_NORMS,
    POST_NORMS,
    PRE_NORMS,
    DenseConfig,
    read_cap,
    read_dense,
    read_windows,
)
from lane.models.hparams import Hparams
from lane.models.rotation import Rotation, read_base
from lane.models.step import StepBuilder

PERIOD = 6  # the last of every six layers sees everything
LOCAL_BASE = 10000.0  # real files lack the key
LAYERS_27B = 62  # the one size whose queries are scaled by √(width / heads); no key says so


@dataclass(frozen=True)
class Gemma3Config(DenseConfig):
    """What a gemma3 file says; `rotation` is that of the layers without a window."""

    windows: tuple[int, ...]
    scale: float
    logit_cap: float
    local: Rotation


def read(hparams: Hparams) -> Gemma3Config:
    """Reads the keys."""
    c = read_dense(hparams)
    hparams.expect("rope.scaling.attn_factor", 1.0)  # implementations differ on the layers with a window
    width = c.shape.embd // c.shape.heads if c.layers == LAYERS_27B else c.shape.hd
    return Gemma3Config(
        c.layers,
        c.context,
        c.dims,
        c.shape,
        c.rotation,
        windows=read_windows(hparams, c.layers, PERIOD),
        scale=width**-0.5,
        logit_cap=read_cap(hparams, "final_logit_softcapping", 0.0),
        local=Rotation(c.shape.rotated, read_base(hparams, "rope.freq_base_swa", LOCAL_BASE)),
    )


def build(b: StepBuilder, c: Config) -> str:
    """Adds a step's ops."""
    assert isinstance(c, Gemma3Config)

    def style(layer: int) -> AttentionStyle:
        window = c.windows[layer]
        tables = b.rotation("rope_local", c.local) if window else b.rotation("rope_full", c.rotation)
        return AttentionStyle(tables, RopeLayout.SPLIT, c.scale, window)

    x = b.embed("token_embd.weight", math.sqrt(c.shape.embd))
    x = sandwich_layers(b, x, c.shape, style, UnaryOp.GELU)
    return soft_capped(b, logits(b, x, c.shape.eps), c.logit_cap)


GEMMA3 = Architecture(
    "gemma3",
    read,
    EMBEDDING + PRE_NORMS + ATTENTION + HEAD_NORMS + POST_NORMS + GATED_FFN + HEAD,
    build,
)
