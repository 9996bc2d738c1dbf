"""olmo2: OLMo 2 and 3. Norms after the blocks, none before; queries and keys normed whole; RoPE on split halves.

OLMo 3 has a window in three layers of four; the scaling of its rotation holds only in the layers without one.
"""

from __future__ import annotations

from dataclasses import dataclass

from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import UnaryOp
from lane.models.architecture import Architecture, Config, need
from lane.models.blocks import POST_NORM, AttentionStyle, attention, decoder, gated_ffn, logits
from lane.models.dense import ATTENTION, EMBEDDING, GATED_FFN, HEAD, POST_NORMS, read_windows
from lane.models.hparams import Hparams
from lane.models.rotation import Rotation, read_rotation
from lane.models.shape import read_shape
from lane.models.step import StepBuilder

PERIOD = 4  # the last of every four layers sees everything, in files with a window


@dataclass(frozen=True)
class Olmo2Config(Config):
    """What an olmo2 file says; `rotation` is that of the layers without a window, `local` of those with one."""

    rotation: Rotation
    windows: tuple[int, ...]
    local: Rotation


def read(hparams: Hparams) -> Olmo2Config:
    """Reads the keys."""
    shape = read_shape(hparams)
    rotation = read_rotation(hparams, shape.rotated, shape.context)
    hparams.expect("rope.freq_base_swa", rotation.base)  # implementations differ on whether it counts
    windows = read_windows(hparams, shape.layers, PERIOD)
    return Olmo2Config(shape, rotation, windows, Rotation(shape.rotated, rotation.base))


def build(b: StepBuilder, c: Olmo2Config) -> str:
    """Adds a step's ops."""

    def attention_of(x: str, layer: int) -> str:
        window = c.windows[layer]
        tables = b.rotation("rope_local", c.local) if window else b.rotation("rope_full", c.rotation)
        style = AttentionStyle(tables, RopeLayout.SPLIT, c.shape.hd**-0.5, window)
        return attention(b, x, layer, c.shape.at(layer), style)

    x = b.embed("token_embd.weight")
    x = decoder(b, x, c.shape, attention_of, lambda y, i: gated_ffn(b, y, i, UnaryOp.SILU), hung=POST_NORM)
    return logits(b, x, c.shape.eps)


OLMO2 = Architecture(
    "olmo2",
    read,
    (
        *EMBEDDING,
        *ATTENTION,
        need("blk.{}.attn_q_norm.weight", "q"),
        need("blk.{}.attn_k_norm.weight", "k"),
        *POST_NORMS,
        *GATED_FFN,
        *HEAD,
    ),
    build,
)
