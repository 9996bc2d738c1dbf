"""qwen2moe: qwen2's attention, experts by a softmax that is not renormalised, shared ones weighed by a sigmoid."""

from __future__ import annotations

from lane.launch.meaning.attention import RopeLayout
from lane.models.architecture import Architecture
from lane.models.blocks import AttentionStyle, pre_norm_decoder
from lane.models.dense import ATTENTION, ATTENTION_BIAS, EMBEDDING, HEAD, PRE_NORMS
from lane.models.hparams import Hparams
from lane.models.mixture import EXPERTS, SHARED_EXPERTS, SHARED_SCORE, MixtureConfig, Widths, mixture_ffn, read_experts
from lane.models.rotation import read_rotation
from lane.models.shape import read_shape
from lane.models.step import StepBuilder


def read(hparams: Hparams) -> MixtureConfig:
    """Reads the keys; of files that do not say, the experts used are together as wide as the feed-forward length."""
    shape = read_shape(hparams, fewest_ff=0)
    used = hparams.count("expert_used_count")
    widths = Widths(max(1, shape.ff[0] // used), shape.ff[0])
    experts = read_experts(hparams, shape, widths, renormalise=False)
    return MixtureConfig(shape, read_rotation(hparams, shape.rotated, shape.context), experts)


def build(b: StepBuilder, c: MixtureConfig) -> str:
    """Adds a step's ops."""
    style = AttentionStyle(b.rotation("rope", c.rotation), RopeLayout.SPLIT, c.shape.hd**-0.5)
    return pre_norm_decoder(b, c.shape, lambda _: style, mixture_ffn(b, c.experts))


QWEN2MOE = Architecture(
    "qwen2moe",
    read,
    EMBEDDING + PRE_NORMS + ATTENTION + ATTENTION_BIAS + EXPERTS + SHARED_EXPERTS + SHARED_SCORE + HEAD,
    build,
)
