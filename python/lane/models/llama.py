"""llama: SmolLM2, Llama 2 and 3, Mistral (whose window this architecture ignores).

Pre-norm blocks, RoPE on interleaved pairs (the converter permuted the rows), SwiGLU; Llama 3's scaling by the factors
of `rope_freqs.weight`, linear and YaRN scaling by metadata; biases and a tied head where the file has them.
"""

from __future__ import annotations

from dataclasses import dataclass

from lane.errors import UnsupportedError
from lane.launch.attention import RopeLayout
from lane.launch.elementwise import UnaryOp
from lane.models.architecture import Architecture, Config, may, need
from lane.models.blocks import AttentionStyle, Heads, attention, gated_ffn, logits_of, residual, rms_norm
from lane.models.dense import DenseShape, read_dense
from lane.models.hparams import Hparams
from lane.models.rotation import Rotation, read_rotation
from lane.models.step import StepBuilder

FACTORS = "rope_freqs.weight"


@dataclass(frozen=True)
class LlamaConfig(Config):
    """What a llama file says."""

    shape: DenseShape
    rotation: Rotation


def read(hparams: Hparams) -> LlamaConfig:
    """Reads the keys."""
    experts = hparams.count("expert_count", 0, low=0)
    if experts:
        raise UnsupportedError(
            f"models: architecture 'llama' with {experts} experts: mixtures are not run yet; allowed 0"
        )
    hparams.ignore("expert_used_count", "attention.sliding_window")
    shape = read_dense(hparams)
    rotation = read_rotation(hparams, shape.rotated, shape.context)
    return LlamaConfig(shape.layers, shape.context, shape.dims(), shape=shape, rotation=rotation)


def build(b: StepBuilder, c: Config) -> str:
    """Adds a step's ops."""
    assert isinstance(c, LlamaConfig)
    s = c.shape
    heads = Heads(s.heads, s.kv_heads, s.hd, s.vd)
    tables = b.rotation("rope", c.rotation, FACTORS if b.has(FACTORS) else None)
    style = AttentionStyle(tables, RopeLayout.INTERLEAVED, s.hd**-0.5)
    x = b.embed("token_embd.weight")
    for i in range(c.layers):
        normed = rms_norm(b, x, f"blk.{i}.attn_norm.weight", f"blk.{i}.attn_norm", s.eps)
        x = residual(b, x, attention(b, normed, i, heads, style, s.eps), f"blk.{i}.attn_sum")
        normed = rms_norm(b, x, f"blk.{i}.ffn_norm.weight", f"blk.{i}.ffn_norm", s.eps)
        x = residual(b, x, gated_ffn(b, normed, i, UnaryOp.SILU), f"blk.{i}.ffn_sum")
    return logits_of(b, rms_norm(b, b.head_rows(x), "output_norm.weight", "output_norm", s.eps))


LLAMA = Architecture(
    "llama",
    read,
    (
        need("token_embd.weight", "vocab", "embd"),
        need("output_norm.weight", "embd"),
        may("output.weight", "vocab", "embd"),
        may(FACTORS, "half"),
        need("blk.{}.attn_norm.weight", "embd"),
        need("blk.{}.attn_q.weight", "q", "embd"),
        need("blk.{}.attn_k.weight", "k", "embd"),
        need("blk.{}.attn_v.weight", "v", "embd"),
        need("blk.{}.attn_output.weight", "embd", "o"),
        may("blk.{}.attn_q.bias", "q"),
        may("blk.{}.attn_k.bias", "k"),
        may("blk.{}.attn_v.bias", "v"),
        may("blk.{}.attn_output.bias", "embd"),
        need("blk.{}.ffn_norm.weight", "embd"),
        need("blk.{}.ffn_gate.weight", "ff", "embd"),
        need("blk.{}.ffn_up.weight", "ff", "embd"),
        need("blk.{}.ffn_down.weight", "embd", "ff"),
        may("blk.{}.ffn_gate.bias", "ff"),
        may("blk.{}.ffn_up.bias", "ff"),
        may("blk.{}.ffn_down.bias", "embd"),
    ),
    build,
)
