"""llama: SmolLM2, Llama 2 and 3, Mistral (whose window this architecture ignores).

Pre-norm blocks, RoPE on interleaved pairs (the converter permuted the rows), SwiGLU; Llama 3's scaling by the factors
of `rope_freqs.weight`, linear and YaRN scaling by metadata; biases and a tied head where the file has them.
"""

from __future__ import annotations

from lane.errors import UnsupportedError
from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import UnaryOp
from lane.models.architecture import Architecture
from lane.models.blocks import AttentionStyle, freq_factors, gated_ffn, pre_norm_decoder
from lane.models.dense import (
    FREQ_FACTORS,
    LLAMA_TENSORS,
    DenseConfig,
    read_dense,
)
from lane.models.hparams import Hparams
from lane.models.step import StepBuilder


def read(hparams: Hparams) -> DenseConfig:
    """Reads the keys."""
    experts = hparams.count("expert_count", 0, low=0)
    if experts:
        raise UnsupportedError(f"models: architecture 'llama' with {experts} experts: mixtures are not run; allowed 0")
    hparams.ignore("expert_used_count", "attention.sliding_window")
    return read_dense(hparams)


def build(b: StepBuilder, c: DenseConfig) -> str:
    """Adds a step's ops."""
    tables = b.rotation("rope", c.rotation, freq_factors(b))
    style = AttentionStyle(tables, RopeLayout.INTERLEAVED, c.shape.hd**-0.5)
    return pre_norm_decoder(b, c.shape, lambda _: style, lambda x, i: gated_ffn(b, x, i, UnaryOp.SILU))


LLAMA = Architecture(
    "llama",
    read,
    LLAMA_TENSORS + FREQ_FACTORS,
    build,
)
