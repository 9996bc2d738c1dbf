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
from lane.models.blocks import SANDWICH, AttentionStyle, attention, decoder, gated_ffn, logits, soft_capped
from lane.models.dense import (
    ATTENTION,
    EMBEDDING,
    GATED_FFN,
    HEAD,
    HEAD_NORMS,
    POST_NORMS,
    PRE_NORMS,
    read_cap,
    read_windows,
)
from lane.models.hparams import Hparams
from lane.models.rotation import Rotation, read_base, read_rotation
from lane.models.shape import read_shape
from lane.models.step import StepBuilder

PERIOD = 6  # the last of every six layers sees everything
LOCAL_BASE = 10000.0  # real files lack the key
LAYERS_27B = 62  # the one size whose queries are scaled by √(width / heads); no key says so


@dataclass(frozen=True)
class Gemma3Config(Config):
    """What a gemma3 file says; `rotation` is that of the layers without a window, `local` of those with one."""

    rotation: Rotation
    windows: tuple[int, ...]
    scale: float
    logit_cap: float
    local: Rotation


def read(hparams: Hparams) -> Gemma3Config:
    """Reads the keys."""
    shape = read_shape(hparams)
    hparams.expect("rope.scaling.attn_factor", 1.0)  # implementations differ on the layers with a window
    width = shape.embd // shape.heads[0] if shape.layers == LAYERS_27B else shape.hd
    return Gemma3Config(
        shape,
        read_rotation(hparams, shape.rotated, shape.context),
        windows=read_windows(hparams, shape.layers, PERIOD),
        scale=width**-0.5,
        logit_cap=read_cap(hparams, "final_logit_softcapping", 0.0),
        local=Rotation(shape.rotated, read_base(hparams, "rope.freq_base_swa", LOCAL_BASE)),
    )


def build(b: StepBuilder, c: Gemma3Config) -> str:
    """Adds a step's ops."""

    def attention_of(x: str, layer: int) -> str:
        window = c.windows[layer]
        tables = b.rotation("rope_local", c.local) if window else b.rotation("rope_full", c.rotation)
        style = AttentionStyle(tables, RopeLayout.SPLIT, c.scale, window)
        return attention(b, x, layer, c.shape.at(layer), style)

    x = b.embed("token_embd.weight", math.sqrt(c.shape.embd))
    x = decoder(b, x, c.shape, attention_of, lambda y, i: gated_ffn(b, y, i, UnaryOp.GELU), hung=SANDWICH)
    return soft_capped(b, logits(b, x, c.shape.eps), c.logit_cap)


GEMMA3 = Architecture(
    "gemma3",
    read,
    EMBEDDING + PRE_NORMS + ATTENTION + HEAD_NORMS + POST_NORMS + GATED_FFN + HEAD,
    build,
)
