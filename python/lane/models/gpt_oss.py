"""gpt-oss: attention with sinks through a window in every other layer, experts of clamped SwiGLU, biases everywhere.

RoPE turns split halves under YaRN. The router chooses by its logits and weighs by a softmax over the chosen ones, which
is a softmax over all, renormalised. The norm before the experts is called `post_attention_norm`.
"""

from __future__ import annotations

from dataclasses import dataclass

from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.mixture import Clamp
from lane.models.architecture import Architecture, need
from lane.models.blocks import PRE_NORM_NAMED_POST, AttentionStyle, attention, decoder, logits
from lane.models.dense import ATTENTION, EMBEDDING, HEAD, PRE_NORMS_NAMED_POST, read_windows
from lane.models.hparams import Hparams
from lane.models.mixture import EXPERTS, EXPERTS_BIAS, MixtureConfig, Widths, mixture, read_experts
from lane.models.rotation import read_rotation
from lane.models.shape import read_shape
from lane.models.step import StepBuilder

PERIOD = 2  # the second of every two layers sees everything
CLAMP = Clamp(limit=7.0, slope=1.702)  # no key says so


@dataclass(frozen=True)
class GptOssConfig(MixtureConfig):
    """What a gpt-oss file says."""

    windows: tuple[int, ...]


def read(hparams: Hparams) -> GptOssConfig:
    """Reads the keys."""
    shape = read_shape(hparams, fewest_ff=0)
    rotation = read_rotation(hparams, shape.rotated, shape.context)
    experts = read_experts(hparams, shape, Widths(), renormalise=True, clamp=CLAMP)
    return GptOssConfig(shape, rotation, experts, read_windows(hparams, shape.layers, PERIOD))


def build(b: StepBuilder, c: GptOssConfig) -> str:
    """Adds a step's ops."""
    tables = b.rotation("rope", c.rotation)

    def attention_of(x: str, layer: int) -> str:
        style = AttentionStyle(tables, RopeLayout.SPLIT, c.shape.hd**-0.5, c.windows[layer])
        return attention(b, x, layer, c.shape.at(layer), style)

    x = b.embed("token_embd.weight")
    x = decoder(b, x, c.shape, attention_of, lambda y, i: mixture(b, y, i, c.experts), hung=PRE_NORM_NAMED_POST)
    return logits(b, x, c.shape.eps)


GPT_OSS = Architecture(
    "gpt-oss",
    read,
    (
        *EMBEDDING,
        *PRE_NORMS_NAMED_POST,
        *ATTENTION,
        need("blk.{}.attn_q.bias", "q"),
        need("blk.{}.attn_k.bias", "k"),
        need("blk.{}.attn_v.bias", "v"),
        need("blk.{}.attn_output.bias", "embd"),
        need("blk.{}.attn_sinks.weight", "heads"),
        *EXPERTS,
        *EXPERTS_BIAS,
        *HEAD,
    ),
    build,
)
