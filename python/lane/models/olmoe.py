"""olmoe: queries and keys normed whole before RoPE on split halves, experts by a softmax that is not renormalised."""

from __future__ import annotations

from lane.models.architecture import Architecture, need
from lane.models.dense import ATTENTION, EMBEDDING, HEAD, PRE_NORMS
from lane.models.hparams import Hparams
from lane.models.mixture import EXPERTS, MixtureConfig, Widths, read_experts
from lane.models.qwen2moe import build
from lane.models.rotation import read_rotation
from lane.models.shape import read_shape


def read(hparams: Hparams) -> MixtureConfig:
    """Reads the keys; an expert is as wide as the feed-forward length."""
    shape = read_shape(hparams)
    experts = read_experts(hparams, shape, Widths(shape.ff[0]), renormalise=False)
    return MixtureConfig(shape, read_rotation(hparams, shape.rotated, shape.context), experts)


OLMOE = Architecture(
    "olmoe",
    read,
    (
        *EMBEDDING,
        *PRE_NORMS,
        *ATTENTION,
        need("blk.{}.attn_q_norm.weight", "q"),
        need("blk.{}.attn_k_norm.weight", "k"),
        *EXPERTS,
        *HEAD,
    ),
    build,
)
