"""lfm2: LFM 2. Gated short convolutions, and attention in the layers that have key/value heads; SwiGLU.

Queries and keys are normed per head before RoPE on split halves. The final norm is called `token_embd_norm`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lane.graph.ops import Binary, Conv, Slice
from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import BinaryOp
from lane.models.architecture import Architecture, Config, TensorRow, may, need, only
from lane.models.blocks import AttentionStyle, attention, decoder, head, project, rms_norm
from lane.models.dense import ATTENTION, EMBEDDING, GATED_FFN, HEAD_NORMS, PRE_NORMS
from lane.models.hparams import Hparams
from lane.models.mixture import Experts, mixture_ffn
from lane.models.part import Dim, Part
from lane.models.rotation import Rotation, read_rotation
from lane.models.shape import MAX_HEAD, read_shape
from lane.models.step import StepBuilder

FINAL_NORM = "token_embd_norm"


@dataclass(frozen=True)
class ShortConvolution(Part):
    """Taps, the width of the three parts that a layer projects, and which layers convolve and which attend."""

    taps: int
    width: int
    convolving: tuple[int, ...]
    attending: tuple[int, ...]

    def dims(self) -> Mapping[str, Dim]:
        """The names that tensor tables use."""
        return {"taps": self.taps, "three": 3 * self.width}

    def kinds(self) -> Mapping[str, tuple[int, ...]]:
        """The two kinds of layers."""
        return {"convolution": self.convolving, "attention": self.attending}


@dataclass(frozen=True)
class Lfm2Config(Config):
    """What an lfm2 or lfm2moe file says; `experts` in the latter alone."""

    rotation: Rotation
    convolution: ShortConvolution
    experts: Experts | None = None


def read(hparams: Hparams) -> Lfm2Config:
    """Reads the keys."""
    shape = read_shape(hparams, fewest_kv_heads=0)
    convolution = ShortConvolution(
        hparams.count("shortconv.l_cache", high=MAX_HEAD),
        shape.embd,
        tuple(i for i in range(shape.layers) if shape.kv_heads[i] == 0),
        tuple(i for i in range(shape.layers) if shape.kv_heads[i] > 0),
    )
    return Lfm2Config(shape, read_rotation(hparams, shape.rotated, shape.context), convolution)


def build(b: StepBuilder, c: Lfm2Config) -> str:
    """Adds a step's ops."""
    s = c.shape
    style = AttentionStyle(b.rotation("rope", c.rotation), RopeLayout.SPLIT, s.hd**-0.5)

    def block(x: str, layer: int) -> str:
        if layer in c.convolution.attending:
            return attention(b, x, layer, s.at(layer), style)
        return short_convolution(b, x, layer, c.convolution)

    x = decoder(b, b.embed("token_embd.weight"), s, block, mixture_ffn(b, c.experts))
    return head(b, rms_norm(b, b.head_rows(x), FINAL_NORM, "output_norm", s.eps))


def short_convolution(b: StepBuilder, x: str, layer: int, n: ShortConvolution) -> str:
    """out(c · conv(b · x)), b, c and x being the thirds of a projection."""
    at = f"blk.{layer}.shortconv"
    thirds = project(b, x, layer, "shortconv.in_proj")
    before, after, values = (
        b.add(Slice(thirds, f"{at}.{part}", 3 * n.width, i * n.width, n.width)) for i, part in enumerate("bcx")
    )
    y = b.add(Binary(BinaryOp.MUL, before, values, f"{at}.bx"))
    ring = b.state(f"{at}.ring", n.taps, n.width)
    y = b.add(Conv(y, b.table(f"{at}.conv.weight"), ring, b.pos, f"{at}.convolved", n.taps))
    return project(b, b.add(Binary(BinaryOp.MUL, after, y, f"{at}.gated")), layer, "shortconv.out_proj")


LAYERS: tuple[TensorRow, ...] = (
    *PRE_NORMS,
    *only("attention", ATTENTION + HEAD_NORMS),
    *only(
        "convolution",
        (
            need("blk.{}.shortconv.in_proj.weight", "three", "embd"),
            need("blk.{}.shortconv.conv.weight", "embd", "taps", plain=True),
            need("blk.{}.shortconv.out_proj.weight", "embd", "embd"),
        ),
    ),
    *GATED_FFN,
    need(f"{FINAL_NORM}.weight", "embd"),
    may("output.weight", "vocab", "embd"),
)

LFM2 = Architecture("lfm2", read, EMBEDDING + LAYERS, build)
