"""deepseek2: DeepSeek V2 and V3. Latent attention, leading dense layers, then experts in groups and shared ones.

RoPE turns interleaved pairs under YaRN, whose factor of cos and sin is 1 here: the scores are scaled by it instead, and
squared, with the file's own multiplier of its logarithm. "Lite" files project queries straight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from lane.errors import UnsupportedError
from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.mixture import RouterScore
from lane.models.architecture import Architecture, need
from lane.models.blocks import AttentionStyle, decoder, logits
from lane.models.dense import EMBEDDING, GATED_FFN, HEAD, PRE_NORMS
from lane.models.hparams import Hparams
from lane.models.latent import LATENT_ATTENTION, STRAIGHT_QUERY, HeadMatrices, Latent, latent_attention, read_latent
from lane.models.mixture import CHOICE_BIAS, EXPERTS, SHARED_EXPERTS, MixtureConfig, mixture_ffn, read_routed_experts
from lane.models.rotation import read_rotation
from lane.models.shape import MAX_HEAD, read_shape
from lane.models.step import StepBuilder


@dataclass(frozen=True)
class Deepseek2Config(MixtureConfig):
    """What a deepseek2 file says."""

    latent: Latent
    scale: float


def read(hparams: Hparams) -> Deepseek2Config:
    """Reads the keys; key and value lengths beside `_mla` are those of the cached row."""
    shape = read_shape(hparams)
    hd = hparams.count("attention.key_length_mla", high=MAX_HEAD)
    vd = hparams.count("attention.value_length_mla", high=MAX_HEAD)
    latent = read_latent(hparams, shape, hd, vd, straight=True)
    rotation = read_rotation(hparams, shape.rotated, shape.context)
    hparams.expect("rope.scaling.attn_factor", 1.0)  # implementations differ on whether the scores are scaled by it
    multiplier = hparams.number("rope.scaling.yarn_log_multiplier", 0.0, low=0.0, high=1e3)
    magnitude = 1.0
    if rotation.yarn is not None:
        if multiplier == 0:
            raise UnsupportedError(
                "models: metadata key 'deepseek2.rope.scaling.yarn_log_multiplier': found none, lane runs yarn with it"
            )
        rotation = replace(rotation, magnitude=1.0)
        magnitude += multiplier * math.log(rotation.factor)
    experts = read_routed_experts(hparams, shape, RouterScore.SOFTMAX)
    return Deepseek2Config(shape, rotation, experts, latent, magnitude**2 * hd**-0.5)


def build(b: StepBuilder, c: Deepseek2Config) -> str:
    """Adds a step's ops."""
    style = AttentionStyle(b.rotation("rope", c.rotation), RopeLayout.INTERLEAVED, c.scale)

    def attention(x: str, layer: int) -> str:
        key, value = (b.matrix(f"blk.{layer}.attn_{part}_b.weight") for part in "kv")
        return latent_attention(b, x, layer, c.latent, c.shape.eps, style, HeadMatrices(key, value, key_rows_in=False))

    x = decoder(b, b.embed("token_embd.weight"), c.shape, attention, mixture_ffn(b, c.experts))
    return logits(b, x, c.shape.eps)


DEEPSEEK2 = Architecture(
    "deepseek2",
    read,
    (
        *EMBEDDING,
        *PRE_NORMS,
        *STRAIGHT_QUERY,
        *LATENT_ATTENTION,
        need("blk.{}.attn_k_b.weight", "heads", "rank", "nope"),
        need("blk.{}.attn_v_b.weight", "heads", "latent_v", "rank"),
        *GATED_FFN,
        *EXPERTS,
        *CHOICE_BIAS,
        *SHARED_EXPERTS,
        *HEAD,
    ),
    build,
)
