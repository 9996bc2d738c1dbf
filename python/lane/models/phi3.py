"""phi3: Phi 3, 3.5 and 4. Pre-norm blocks with queries, keys and values in one tensor, gate and up in another; SwiGLU.

RoPE turns the first part of a head, on split halves. Long-context files scale it by factors that depend on the context
the model is compiled for: the short ones up to the original context, the long ones above (longrope, arXiv:2402.13753).
The architecture ignores a window.
"""

from __future__ import annotations

from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import UnaryOp
from lane.models.architecture import Architecture, Config, need
from lane.models.blocks import (
    AttentionStyle,
    attend,
    context_factors,
    gate_product,
    logits,
    project,
    project_parts,
    residual,
    rms_norm,
)
from lane.models.dense import CONTEXT_FACTORS, EMBEDDING, HEAD, PRE_NORMS, DenseConfig, dense_config, read_shape
from lane.models.hparams import Hparams
from lane.models.rotation import KINDS, LONGROPE
from lane.models.step import StepBuilder


def read(hparams: Hparams) -> DenseConfig:
    """Reads the keys."""
    hparams.ignore("attention.sliding_window")
    return dense_config(hparams, read_shape(hparams), (*KINDS, LONGROPE))


def build(b: StepBuilder, c: Config) -> str:
    """Adds a step's ops."""
    assert isinstance(c, DenseConfig)
    s = c.shape
    tables = b.rotation("rope", c.rotation, context_factors(b, c.rotation))
    style = AttentionStyle(tables, RopeLayout.SPLIT, s.hd**-0.5)
    x = b.embed("token_embd.weight")
    for i in range(c.layers):
        normed = rms_norm(b, x, f"blk.{i}.attn_norm.weight", f"blk.{i}.attn_norm", s.eps)
        q, k, v = project_parts(b, normed, i, "attn_qkv", (("attn_q", s.q), ("attn_k", s.k), ("attn_v", s.v)))
        y = project(b, attend(b, (q, k, v), i, s, style), i, "attn_output")
        x = residual(b, x, y, f"blk.{i}.attn_sum")
        normed = rms_norm(b, x, f"blk.{i}.ffn_norm.weight", f"blk.{i}.ffn_norm", s.eps)
        gate, up = project_parts(b, normed, i, "ffn_up", (("ffn_gate_part", s.ff), ("ffn_up_part", s.ff)))
        y = project(b, gate_product(b, gate, up, i, UnaryOp.SILU), i, "ffn_down")
        x = residual(b, x, y, f"blk.{i}.ffn_sum")
    return logits(b, x, s.eps)


PHI3 = Architecture(
    "phi3",
    read,
    (
        *EMBEDDING,
        *CONTEXT_FACTORS,
        *PRE_NORMS,
        need("blk.{}.attn_qkv.weight", "qkv", "embd"),
        need("blk.{}.attn_output.weight", "embd", "o"),
        need("blk.{}.ffn_up.weight", "gate_up", "embd"),
        need("blk.{}.ffn_down.weight", "embd", "ff"),
        *HEAD,
    ),
    build,
)
