"""qwen35: qwen3next's layers with a dense feed-forward; write strengths and forget gates are projections of their own.

Value heads share key heads by turns. The sections of the rotation are those of images; for text all turn by the
position, on split halves of the first part of a head.
"""

from __future__ import annotations

from dataclasses import dataclass

from lane.launch.meaning.attention import RopeLayout
from lane.models.architecture import Architecture, Config, TensorRow, need, only
from lane.models.blocks import PRE_NORM_NAMED_POST, AttentionStyle, decoder, logits, project
from lane.models.delta_net import DELTA_NET, GATED_ATTENTION, DeltaNet, delta_layer, gated_attention, read_delta_net
from lane.models.dense import EMBEDDING, GATED_FFN, HEAD, PRE_NORMS_NAMED_POST
from lane.models.hparams import Hparams
from lane.models.mixture import Experts, mixture_ffn
from lane.models.rotation import Rotation, read_rotation
from lane.models.shape import DenseShape, read_shape
from lane.models.step import StepBuilder


@dataclass(frozen=True)
class Qwen35Config(Config):
    """What a qwen35 or qwen35moe file says; `experts` in the latter alone."""

    rotation: Rotation
    delta: DeltaNet
    experts: Experts | None = None


def read(hparams: Hparams) -> Qwen35Config:
    """Reads the keys."""
    return read_layers(hparams, read_shape(hparams))


def read_layers(hparams: Hparams, shape: DenseShape) -> Qwen35Config:
    """Reads the keys beside the shape's."""
    hparams.ignore("rope.dimension_sections")
    return Qwen35Config(shape, read_rotation(hparams, shape.rotated, shape.context), read_delta_net(hparams, shape))


def build(b: StepBuilder, c: Qwen35Config) -> str:
    """Adds a step's ops."""
    s, n = c.shape, c.delta
    style = AttentionStyle(b.rotation("rope", c.rotation), RopeLayout.SPLIT, s.hd**-0.5)

    def gates(x: str, layer: int) -> tuple[str, str]:
        return project(b, x, layer, "ssm_beta"), project(b, x, layer, "ssm_alpha")

    def block(x: str, layer: int) -> str:
        if layer in n.attending:
            return gated_attention(b, x, layer, s.at(layer), style)
        return delta_layer(b, x, layer, n, s.eps, gates, tiled=True)

    x = b.embed("token_embd.weight")
    x = decoder(b, x, s, block, mixture_ffn(b, c.experts), hung=PRE_NORM_NAMED_POST)
    return logits(b, x, s.eps)


LAYERS: tuple[TensorRow, ...] = (
    *PRE_NORMS_NAMED_POST,
    *GATED_ATTENTION,
    *DELTA_NET,
    *only(
        "recurrent",
        (
            need("blk.{}.ssm_beta.weight", "delta_heads", "embd"),
            need("blk.{}.ssm_alpha.weight", "delta_heads", "embd"),
        ),
    ),
)

QWEN35 = Architecture("qwen35", read, EMBEDDING + LAYERS + GATED_FFN + HEAD, build)
