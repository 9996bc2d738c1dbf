"""qwen3moe: qwen3's attention, experts by a softmax, renormalised over the chosen ones."""

from __future__ import annotations

from lane.models.architecture import Architecture
from lane.models.dense import ATTENTION, ATTENTION_BIAS, EMBEDDING, HEAD, HEAD_NORMS, PRE_NORMS
from lane.models.hparams import Hparams
from lane.models.mixture import EXPERTS, MixtureConfig, Widths, read_experts
from lane.models.qwen2moe import build
from lane.models.rotation import read_rotation
from lane.models.shape import read_shape


def read(hparams: Hparams) -> MixtureConfig:
    """Reads the keys."""
    shape = read_shape(hparams, fewest_ff=0)
    experts = read_experts(hparams, shape, Widths(), renormalise=True)
    return MixtureConfig(shape, read_rotation(hparams, shape.rotated, shape.context), experts)


QWEN3MOE = Architecture(
    "qwen3moe",
    read,
    EMBEDDING + PRE_NORMS + ATTENTION + ATTENTION_BIAS + HEAD_NORMS + EXPERTS + HEAD,
    build,
)
