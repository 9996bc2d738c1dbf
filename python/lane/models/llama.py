"""llama: SmolLM2, Llama 2 and 3, Mistral (whose window this architecture ignores), Mixtral.

Pre-norm blocks, RoPE on interleaved pairs (the converter permuted the rows), SwiGLU; Llama 3's scaling by the factors
of `rope_freqs.weight`, linear and YaRN scaling by metadata; biases and a tied head where the file has them. In mixtures
experts by a softmax, renormalised over the chosen ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from lane.launch.meaning.attention import RopeLayout
from lane.models.architecture import Architecture, Config
from lane.models.blocks import AttentionStyle, freq_factors, pre_norm_decoder
from lane.models.dense import FREQ_FACTORS, LLAMA_TENSORS
from lane.models.hparams import Hparams
from lane.models.mixture import EXPERTS, Experts, Widths, mixture_ffn, read_experts
from lane.models.rotation import Rotation, read_rotation
from lane.models.shape import read_shape
from lane.models.step import StepBuilder


@dataclass(frozen=True)
class LlamaConfig(Config):
    """What a llama file says; `experts` of mixtures alone."""

    rotation: Rotation
    experts: Experts | None


def read(hparams: Hparams) -> LlamaConfig:
    """Reads the keys; an expert is as wide as the feed-forward length."""
    shape = read_shape(hparams)
    hparams.ignore("attention.sliding_window")
    experts = None
    if hparams.count("expert_count", 0, low=0):
        experts = read_experts(hparams, shape, Widths(shape.ff[0]), renormalise=True)
    hparams.ignore("expert_used_count")
    return LlamaConfig(shape, read_rotation(hparams, shape.rotated, shape.context), experts)


def build(b: StepBuilder, c: LlamaConfig) -> str:
    """Adds a step's ops."""
    tables = b.rotation("rope", c.rotation, freq_factors(b))
    style = AttentionStyle(tables, RopeLayout.INTERLEAVED, c.shape.hd**-0.5)
    return pre_norm_decoder(b, c.shape, lambda _: style, mixture_ffn(b, c.experts))


LLAMA = Architecture(
    "llama",
    read,
    LLAMA_TENSORS + EXPERTS + FREQ_FACTORS,
    build,
)
