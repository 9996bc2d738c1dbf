"""gemma3: sandwich norms, per-head query and key norms, GELU gate, a tied head, and two kinds of layers.

Five layers in six attend through a sliding window under a rotation of their own base; the sixth sees everything under the
global base, to which alone the linear scaling applies. Embeddings are scaled by √width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from lane.graph.ops import Unary
from lane.launch.attention import RopeLayout
from lane.launch.elementwise import UnaryOp
from lane.models.architecture import Architecture, Config, may, need
from lane.models.blocks import AttentionStyle, Heads, attention, gated_ffn, logits_of, residual, rms_norm
from lane.models.dense import DenseShape, read_dense
from lane.models.hparams import Hparams
from lane.models.rotation import Rotation, read_rotation
from lane.models.step import StepBuilder

PERIOD = 6  # one global layer in six, the last of each six
LOCAL_BASE = 10000.0  # real files lack the key
LAYERS_27B = 62  # the one size whose queries are scaled by √(width / heads); no key says so


@dataclass(frozen=True)
class Gemma3Config(Config):
    """What a gemma3 file says."""

    shape: DenseShape
    window: int
    period: int
    scale: float
    cap: float
    local: Rotation
    full: Rotation


def read(hparams: Hparams) -> Gemma3Config:
    """Reads the keys."""
    shape = read_dense(hparams)
    width = shape.embd / shape.heads if shape.layers == LAYERS_27B else shape.hd
    return Gemma3Config(
        shape.layers,
        shape.context,
        shape.dims(),
        shape=shape,
        window=hparams.count("attention.sliding_window"),
        period=hparams.count("attention.sliding_window_pattern", PERIOD),
        scale=width**-0.5,
        cap=hparams.number("final_logit_softcapping", 0.0, low=0.0, high=1e6),
        local=Rotation(shape.rotated, hparams.number("rope.freq_base_swa", LOCAL_BASE, low=1.0 + 1e-6, high=1e12)),
        full=read_rotation(hparams, shape.rotated, shape.context),
    )


def build(b: StepBuilder, c: Config) -> str:
    """Adds a step's ops."""
    assert isinstance(c, Gemma3Config)
    s = c.shape
    heads = Heads(s.heads, s.kv_heads, s.hd, s.vd)
    local = AttentionStyle(b.rotation("rope_local", c.local), RopeLayout.SPLIT, c.scale, c.window)
    full = AttentionStyle(b.rotation("rope_full", c.full), RopeLayout.SPLIT, c.scale)
    x = b.embed("token_embd.weight", math.sqrt(s.embd))
    for i in range(c.layers):
        style = full if i % c.period == c.period - 1 else local
        normed = rms_norm(b, x, f"blk.{i}.attn_norm.weight", f"blk.{i}.attn_norm", s.eps)
        y = attention(b, normed, i, heads, style, s.eps)
        y = rms_norm(b, y, f"blk.{i}.post_attention_norm.weight", f"blk.{i}.post_attn_norm", s.eps)
        x = residual(b, x, y, f"blk.{i}.attn_sum")
        normed = rms_norm(b, x, f"blk.{i}.ffn_norm.weight", f"blk.{i}.ffn_norm", s.eps)
        y = gated_ffn(b, normed, i, UnaryOp.GELU)
        y = rms_norm(b, y, f"blk.{i}.post_ffw_norm.weight", f"blk.{i}.post_ffn_norm", s.eps)
        x = residual(b, x, y, f"blk.{i}.ffn_sum")
    logits = logits_of(b, rms_norm(b, b.head_rows(x), "output_norm.weight", "output_norm", s.eps))
    return b.add(Unary(UnaryOp.SOFT_CAP, logits, "capped_logits", c.cap)) if c.cap else logits


GEMMA3 = Architecture(
    "gemma3",
    read,
    (
        need("token_embd.weight", "vocab", "embd"),
        need("output_norm.weight", "embd"),
        may("output.weight", "vocab", "embd"),
        need("blk.{}.attn_norm.weight", "embd"),
        need("blk.{}.attn_q.weight", "q", "embd"),
        need("blk.{}.attn_k.weight", "k", "embd"),
        need("blk.{}.attn_v.weight", "v", "embd"),
        need("blk.{}.attn_q_norm.weight", "hd"),
        need("blk.{}.attn_k_norm.weight", "hd"),
        need("blk.{}.attn_output.weight", "embd", "o"),
        need("blk.{}.post_attention_norm.weight", "embd"),
        need("blk.{}.ffn_norm.weight", "embd"),
        need("blk.{}.ffn_gate.weight", "ff", "embd"),
        need("blk.{}.ffn_up.weight", "ff", "embd"),
        need("blk.{}.ffn_down.weight", "embd", "ff"),
        need("blk.{}.post_ffw_norm.weight", "embd"),
    ),
    build,
)
