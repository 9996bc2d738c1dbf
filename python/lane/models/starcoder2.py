"""starcoder2: pre-norm blocks with LayerNorm, biases everywhere, RoPE on split halves, a GELU feed-forward, ungated."""

from __future__ import annotations

from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import UnaryOp
from lane.models.architecture import Architecture, need
from lane.models.blocks import AttentionStyle, activated, attention, decoder, head, layer_norm, project
from lane.models.dense import (
    ATTENTION,
    EMBEDDING,
    HEAD,
    PRE_NORMS,
    QKV_BIAS,
    DenseConfig,
    dense_config,
)
from lane.models.hparams import Hparams
from lane.models.shape import read_shape
from lane.models.step import StepBuilder


def read(hparams: Hparams) -> DenseConfig:
    """Reads the keys."""
    return dense_config(hparams, read_shape(hparams, "attention.layer_norm_epsilon"))


def build(b: StepBuilder, c: DenseConfig) -> str:
    """Adds a step's ops."""
    s = c.shape
    style = AttentionStyle(b.rotation("rope", c.rotation), RopeLayout.SPLIT, s.hd**-0.5)

    def ffn(x: str, layer: int) -> str:
        return project(b, activated(b, project(b, x, layer, "ffn_up"), UnaryOp.GELU), layer, "ffn_down")

    x = b.embed("token_embd.weight")
    x = decoder(b, x, s, lambda y, i: attention(b, y, i, s.at(i), style), ffn, norm=layer_norm)
    return head(b, layer_norm(b, b.head_rows(x), "output_norm", "output_norm", s.eps))


STARCODER2 = Architecture(
    "starcoder2",
    read,
    (
        *EMBEDDING,
        *PRE_NORMS,
        need("blk.{}.attn_norm.bias", "embd"),
        need("blk.{}.ffn_norm.bias", "embd"),
        *ATTENTION,
        *QKV_BIAS,
        need("blk.{}.attn_output.bias", "embd"),
        need("blk.{}.ffn_up.weight", "ff", "embd"),
        need("blk.{}.ffn_up.bias", "ff"),
        need("blk.{}.ffn_down.weight", "embd", "ff"),
        need("blk.{}.ffn_down.bias", "embd"),
        *HEAD,
        need("output_norm.bias", "embd"),
    ),
    build,
)
