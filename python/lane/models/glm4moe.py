"""glm4moe: GLM 4.5. RoPE on split halves of the first part of a head, leading dense layers, then experts by a sigmoid.

Queries and keys are normed per head where the file has the weights. The norm before the feed-forward block is called
`post_attention_norm`. Shared experts are added as they are.
"""

from __future__ import annotations

from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.mixture import RouterScore
from lane.models.architecture import Architecture, may
from lane.models.blocks import PRE_NORM_NAMED_POST, AttentionStyle, attention, decoder, logits
from lane.models.dense import ATTENTION, EMBEDDING, GATED_FFN, HEAD, PRE_NORMS_NAMED_POST, QKV_BIAS
from lane.models.hparams import Hparams
from lane.models.mixture import CHOICE_BIAS, EXPERTS, SHARED_EXPERTS, MixtureConfig, mixture_ffn, read_routed_experts
from lane.models.rotation import read_rotation
from lane.models.shape import read_shape
from lane.models.step import StepBuilder


def read(hparams: Hparams) -> MixtureConfig:
    """Reads the keys."""
    shape = read_shape(hparams)
    experts = read_routed_experts(hparams, shape, RouterScore.SIGMOID)
    return MixtureConfig(shape, read_rotation(hparams, shape.rotated, shape.context), experts)


def build(b: StepBuilder, c: MixtureConfig) -> str:
    """Adds a step's ops."""
    s = c.shape
    style = AttentionStyle(b.rotation("rope", c.rotation), RopeLayout.SPLIT, s.hd**-0.5)
    x = b.embed("token_embd.weight")
    x = decoder(
        b,
        x,
        s,
        lambda y, i: attention(b, y, i, s.at(i), style),
        mixture_ffn(b, c.experts),
        hung=PRE_NORM_NAMED_POST,
    )
    return logits(b, x, s.eps)


GLM4MOE = Architecture(
    "glm4moe",
    read,
    (
        *EMBEDDING,
        *PRE_NORMS_NAMED_POST,
        *ATTENTION,
        *QKV_BIAS,
        may("blk.{}.attn_q_norm.weight", "hd"),
        may("blk.{}.attn_k_norm.weight", "hd"),
        *GATED_FFN,
        *EXPERTS,
        *CHOICE_BIAS,
        *SHARED_EXPERTS,
        *HEAD,
    ),
    build,
)
