"""What dense decoders share: the keys that all their files carry, their configuration, groups of tensor-table rows."""

from __future__ import annotations

from dataclasses import dataclass

from lane.models.architecture import Config, TensorRow, may, need, only
from lane.models.hparams import Hparams
from lane.models.rotation import KINDS, Rotation, read_rotation
from lane.models.shape import DenseShape, read_shape


@dataclass(frozen=True)
class DenseConfig(Config):
    """What the file of a decoder with one rotation says."""

    rotation: Rotation


def read_dense(hparams: Hparams) -> DenseConfig:
    """The configuration of a family whose file says nothing beyond the common keys."""
    return dense_config(hparams, read_shape(hparams))


def dense_config(hparams: Hparams, shape: DenseShape, kinds: tuple[str, ...] = KINDS) -> DenseConfig:
    """The configuration of a shape, its rotation read; `kinds` are the scalings of it that the family knows."""
    return DenseConfig(shape, read_rotation(hparams, shape.rotated, shape.context, kinds))


def read_windows(hparams: Hparams, layers: int, period: int, window: int | None = None) -> tuple[int, ...]:
    """The attention window of every layer (0: none), from the window and the pattern of layers that have it.

    The pattern is a flag a layer, or a period n: the last of every n layers has no window (0: all have one), by default
    `period`. `window` is the width where the file names none; without it such a file has no windows.
    """
    if window is None and not hparams.has("attention.sliding_window"):
        return (0,) * layers
    width = hparams.count("attention.sliding_window", window)
    key = "attention.sliding_window_pattern"
    if hparams.is_array(key):
        return tuple(width if local else 0 for local in hparams.flags(key, layers))
    period = hparams.count(key, period, low=0)
    return tuple(width if period == 0 or i % period < period - 1 else 0 for i in range(layers))


def read_cap(hparams: Hparams, key: str, default: float) -> float:
    """A soft cap (0: none)."""
    return hparams.number(key, default, low=0.0, high=1e6)


def read_scale(hparams: Hparams, key: str, default: float | None) -> float:
    """A factor of something, or a divisor."""
    return hparams.number(key, default, low=1e-6, high=1e6)


@dataclass(frozen=True, slots=True)
class Scales:
    """Factors of the embeddings and of every residual branch, and what the logits are divided by."""

    embedding: float
    residual: float
    logits: float


UNSCALED = Scales(1.0, 1.0, 1.0)


def read_scales(hparams: Hparams, embedding: float, residual: float, logits: float | None) -> Scales:
    """Reads the keys, whose defaults are given."""
    return Scales(
        read_scale(hparams, "embedding_scale", embedding),
        read_scale(hparams, "residual_scale", residual),
        read_scale(hparams, "logit_scale", logits),
    )


EMBEDDING: tuple[TensorRow, ...] = (need("token_embd.weight", "vocab", "embd"),)
FREQ_FACTORS: tuple[TensorRow, ...] = (may("rope_freqs.weight", "half"),)  # divisors of the angles (Llama 3)
SHORT_FACTORS, LONG_FACTORS = "rope_factors_short.weight", "rope_factors_long.weight"
CONTEXT_FACTORS: tuple[TensorRow, ...] = (may(SHORT_FACTORS, "half"), may(LONG_FACTORS, "half"))  # longrope's divisors
HEAD: tuple[TensorRow, ...] = (need("output_norm.weight", "embd"), may("output.weight", "vocab", "embd"))

ATTENTION: tuple[TensorRow, ...] = (
    need("blk.{}.attn_q.weight", "q", "embd"),
    need("blk.{}.attn_k.weight", "k", "embd"),
    need("blk.{}.attn_v.weight", "v", "embd"),
    need("blk.{}.attn_output.weight", "embd", "o"),
)
QKV_BIAS: tuple[TensorRow, ...] = (
    may("blk.{}.attn_q.bias", "q"),
    may("blk.{}.attn_k.bias", "k"),
    may("blk.{}.attn_v.bias", "v"),
)
ATTENTION_BIAS: tuple[TensorRow, ...] = (*QKV_BIAS, may("blk.{}.attn_output.bias", "embd"))
HEAD_NORMS: tuple[TensorRow, ...] = (
    need("blk.{}.attn_q_norm.weight", "hd"),
    need("blk.{}.attn_k_norm.weight", "hd"),
)
GATED_FFN: tuple[TensorRow, ...] = only(
    "dense",
    (
        need("blk.{}.ffn_gate.weight", "ff", "embd"),
        need("blk.{}.ffn_up.weight", "ff", "embd"),
        need("blk.{}.ffn_down.weight", "embd", "ff"),
    ),
)
GATED_FFN_BIAS: tuple[TensorRow, ...] = only(
    "dense",
    (
        may("blk.{}.ffn_gate.bias", "ff"),
        may("blk.{}.ffn_up.bias", "ff"),
        may("blk.{}.ffn_down.bias", "embd"),
    ),
)
PRE_NORMS: tuple[TensorRow, ...] = (
    need("blk.{}.attn_norm.weight", "embd"),
    need("blk.{}.ffn_norm.weight", "embd"),
)
PRE_NORMS_NAMED_POST: tuple[TensorRow, ...] = (
    need("blk.{}.attn_norm.weight", "embd"),
    need("blk.{}.post_attention_norm.weight", "embd"),
)
POST_NORMS: tuple[TensorRow, ...] = (
    need("blk.{}.post_attention_norm.weight", "embd"),
    need("blk.{}.post_ffw_norm.weight", "embd"),
)
# All of llama's blocks, biases included; families that scale them have the same.
LLAMA_TENSORS: tuple[TensorRow, ...] = (
    EMBEDDING + PRE_NORMS + ATTENTION + ATTENTION_BIAS + GATED_FFN + GATED_FFN_BIAS + HEAD
)
