"""qwen3next: three Gated DeltaNet layers, then one of gated attention; experts and a shared one weighed by a sigmoid.

A layer's write strengths and forget gates are one projection, of each key head's value heads first the one, then the
other. RoPE turns split halves of the first part of a head.
"""

from __future__ import annotations

from dataclasses import dataclass

from lane.graph.ops import Slice
from lane.launch.meaning.attention import RopeLayout
from lane.models.architecture import Architecture, need, only
from lane.models.blocks import PRE_NORM_NAMED_POST, AttentionStyle, decoder, logits, project
from lane.models.delta_net import DELTA_NET, GATED_ATTENTION, DeltaNet, delta_layer, gated_attention, read_delta_net
from lane.models.dense import EMBEDDING, HEAD, PRE_NORMS_NAMED_POST
from lane.models.hparams import Hparams
from lane.models.mixture import EXPERTS, SHARED_EXPERTS, SHARED_SCORE, MixtureConfig, Widths, mixture, read_experts
from lane.models.rotation import read_rotation
from lane.models.shape import read_shape
from lane.models.step import StepBuilder


@dataclass(frozen=True)
class Qwen3NextConfig(MixtureConfig):
    """What a qwen3next file says."""

    delta: DeltaNet


def read(hparams: Hparams) -> Qwen3NextConfig:
    """Reads the keys."""
    shape = read_shape(hparams, fewest_ff=0)
    rotation = read_rotation(hparams, shape.rotated, shape.context)
    experts = read_experts(hparams, shape, Widths(shared_ff=0), renormalise=True)
    return Qwen3NextConfig(shape, rotation, experts, read_delta_net(hparams, shape))


def build(b: StepBuilder, c: Qwen3NextConfig) -> str:
    """Adds a step's ops."""
    s, n = c.shape, c.delta
    style = AttentionStyle(b.rotation("rope", c.rotation), RopeLayout.SPLIT, s.hd**-0.5)

    def gates(x: str, layer: int) -> tuple[str, str]:
        both, group = project(b, x, layer, "ssm_ba"), n.value_heads // n.key_heads
        strength = b.add(Slice(both, f"blk.{layer}.strength", 2 * group, 0, group))
        return strength, b.add(Slice(both, f"blk.{layer}.forget", 2 * group, group, group))

    def block(x: str, layer: int) -> str:
        if layer in n.attending:
            return gated_attention(b, x, layer, s.at(layer), style)
        return delta_layer(b, x, layer, n, s.eps, gates, tiled=False)

    x = b.embed("token_embd.weight")
    x = decoder(b, x, s, block, lambda y, i: mixture(b, y, i, c.experts), hung=PRE_NORM_NAMED_POST)
    return logits(b, x, s.eps)


QWEN3NEXT = Architecture(
    "qwen3next",
    read,
    (
        *EMBEDDING,
        *PRE_NORMS_NAMED_POST,
        *GATED_ATTENTION,
        *DELTA_NET,
        *only("recurrent", (need("blk.{}.ssm_ba.weight", "delta_gates", "embd"),)),
        *EXPERTS,
        *SHARED_EXPERTS,
        *SHARED_SCORE,
        *HEAD,
    ),
    build,
)
