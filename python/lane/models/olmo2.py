"""olmo2: OLMo 2 and 3. Norms after the blocks, none before; queries and keys normed whole; RoPE on split halves.

OLMo 3 has a window in three layers of four; the scaling of its rotation holds only in the layers without one.
"""

from __future__ import annotations

from dataclasses import dataclass

from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import UnaryOp
from lane.models.architecture import Architecture, Config, need
from lane.models.blocks import (
    AttentionStyle,
    attend,
    gated_ffn,
    logits,
    post_attention_norm,
    post_ffn_norm,
    project,
    residual,
    rms_norm,
)
from lane.models.dense import ATTENTION, EMBEDDING, GATED_FFN, HEAD, POST_NORMS, DenseConfig, read_dense, read_windows
from lane.models.hparams import Hparams
from lane.models.rotation import Rotation
from lane.models.step import StepBuilder

PERIOD = 4  # the last of every four layers sees everything, in files with a window


@dataclass(frozen=True)
class Olmo2Config(DenseConfig):
    """What an olmo2 file says; `rotation` is that of the layers without a window."""

    windows: tuple[int, ...]
    local: Rotation


def read(hparams: Hparams) -> Olmo2Config:
    """Reads the keys."""
    c = read_dense(hparams)
    hparams.expect("rope.freq_base_swa", c.rotation.base)  # implementations differ on whether it counts
    local = Rotation(c.shape.rotated, c.rotation.base)
    windows = read_windows(hparams, c.layers, PERIOD)
    return Olmo2Config(c.layers, c.context, c.dims, c.shape, c.rotation, windows=windows, local=local)


def build(b: StepBuilder, c: Config) -> str:
    """Adds a step's ops."""
    assert isinstance(c, Olmo2Config)
    s = c.shape
    x = b.embed("token_embd.weight")
    for i in range(c.layers):
        tables = b.rotation("rope_local", c.local) if c.windows[i] else b.rotation("rope_full", c.rotation)
        style = AttentionStyle(tables, RopeLayout.SPLIT, s.hd**-0.5, c.windows[i])
        q, k, v = (project(b, x, i, part) for part in ("attn_q", "attn_k", "attn_v"))
        q = rms_norm(b, q, f"blk.{i}.attn_q_norm.weight", f"{q}.normed", s.eps)
        k = rms_norm(b, k, f"blk.{i}.attn_k_norm.weight", f"{k}.normed", s.eps)
        y = project(b, attend(b, (q, k, v), i, s, style), i, "attn_output")
        x = residual(b, x, post_attention_norm(b, y, i, s.eps), f"blk.{i}.attn_sum")
        y = gated_ffn(b, x, i, UnaryOp.SILU)
        x = residual(b, x, post_ffn_norm(b, y, i, s.eps), f"blk.{i}.ffn_sum")
    return logits(b, x, s.eps)


OLMO2 = Architecture(
    "olmo2",
    read,
    (
        *EMBEDDING,
        *ATTENTION,
        need("blk.{}.attn_q_norm.weight", "q"),
        need("blk.{}.attn_k_norm.weight", "k"),
        *POST_NORMS,
        *GATED_FFN,
        *HEAD,
    ),
    build,
)
