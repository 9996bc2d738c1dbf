"""starcoder2: pre-norm blocks with LayerNorm, biases everywhere, RoPE on split halves, a GELU feed-forward, ungated."""

from __future__ import annotations

from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import UnaryOp
from lane.models.architecture import Architecture, Config, need
from lane.models.blocks import AttentionStyle, activated, attention, head, layer_norm, project, residual
from lane.models.dense import (
    ATTENTION,
    EMBEDDING,
    HEAD,
    PRE_NORMS,
    QKV_BIAS,
    DenseConfig,
    dense_config,
    read_shape,
)
from lane.models.hparams import Hparams
from lane.models.step import StepBuilder


def read(hparams: Hparams) -> DenseConfig:
    """Reads the keys."""
    return dense_config(hparams, read_shape(hparams, "attention.layer_norm_epsilon"))


def build(b: StepBuilder, c: Config) -> str:
    """Adds a step's ops."""
    assert isinstance(c, DenseConfig)
    s = c.shape
    style = AttentionStyle(b.rotation("rope", c.rotation), RopeLayout.SPLIT, s.hd**-0.5)
    x = b.embed("token_embd.weight")
    for i in range(c.layers):
        normed = layer_norm(b, x, f"blk.{i}.attn_norm", s.eps)
        x = residual(b, x, attention(b, normed, i, s, style), f"blk.{i}.attn_sum")
        normed = layer_norm(b, x, f"blk.{i}.ffn_norm", s.eps)
        up = activated(b, project(b, normed, i, "ffn_up"), UnaryOp.GELU)
        x = residual(b, x, project(b, up, i, "ffn_down"), f"blk.{i}.ffn_sum")
    return head(b, layer_norm(b, b.head_rows(x), "output_norm", s.eps))


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
