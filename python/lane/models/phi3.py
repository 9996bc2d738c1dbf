"""phi3: Phi 3, 3.5 and 4. Pre-norm blocks with queries, keys and values in one tensor, gate and up in another; SwiGLU.

RoPE turns the first part of a head, on split halves. Long-context files scale it by factors that depend on the context
the model is compiled for: the short ones up to the original context, the long ones above (longrope, arXiv:2402.13753).
The architecture ignores a window.
"""

from __future__ import annotations

from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import UnaryOp
from lane.models.architecture import Architecture, need
from lane.models.blocks import (
    AttentionStyle,
    attend,
    context_factors,
    decoder,
    gate_product,
    logits,
    project,
    project_parts,
)
from lane.models.dense import CONTEXT_FACTORS, EMBEDDING, HEAD, PRE_NORMS, DenseConfig, dense_config
from lane.models.hparams import Hparams
from lane.models.rotation import KINDS, LONGROPE
from lane.models.shape import read_shape
from lane.models.step import StepBuilder


def read(hparams: Hparams) -> DenseConfig:
    """Reads the keys."""
    hparams.ignore("attention.sliding_window")
    return dense_config(hparams, read_shape(hparams), (*KINDS, LONGROPE))


def build(b: StepBuilder, c: DenseConfig) -> str:
    """Adds a step's ops."""
    tables = b.rotation("rope", c.rotation, context_factors(b, c.rotation))
    style = AttentionStyle(tables, RopeLayout.SPLIT, c.shape.hd**-0.5)

    def attention(x: str, layer: int) -> str:
        s = c.shape.at(layer)
        q, k, v = project_parts(b, x, layer, "attn_qkv", (("attn_q", s.q), ("attn_k", s.k), ("attn_v", s.v)))
        return project(b, attend(b, (q, k, v), layer, s, style), layer, "attn_output")

    def ffn(x: str, layer: int) -> str:
        ff = c.shape.ff[layer]
        gate, up = project_parts(b, x, layer, "ffn_up", (("ffn_gate_part", ff), ("ffn_up_part", ff)))
        return project(b, gate_product(b, gate, up, layer, UnaryOp.SILU), layer, "ffn_down")

    return logits(b, decoder(b, b.embed("token_embd.weight"), c.shape, attention, ffn), c.shape.eps)


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
