"""minicpm3: MiniCPM 3. minicpm's scales, which no key names, and latent attention; RoPE on split halves by longrope.

A head's key and value matrices are one tensor, key rows first; absorbed, a key row is an input.
"""

from __future__ import annotations

from dataclasses import dataclass

from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import UnaryOp
from lane.models.architecture import Architecture, Config, need
from lane.models.blocks import AttentionStyle, context_factors, decoder, gated_ffn, logits, scaled
from lane.models.dense import CONTEXT_FACTORS, EMBEDDING, GATED_FFN, HEAD, PRE_NORMS, Scales
from lane.models.hparams import Hparams
from lane.models.latent import LATENT_ATTENTION, HeadMatrices, Latent, latent_attention, read_latent
from lane.models.minicpm import BASE_WIDTH, DEPTH_SCALE, EMBEDDING_SCALE
from lane.models.rotation import KINDS, LONGROPE, Rotation, read_rotation
from lane.models.shape import read_shape
from lane.models.step import StepBuilder


@dataclass(frozen=True)
class Minicpm3Config(Config):
    """What a minicpm3 file says."""

    rotation: Rotation
    latent: Latent
    scales: Scales


def read(hparams: Hparams) -> Minicpm3Config:
    """Reads the keys."""
    shape = read_shape(hparams)
    rotation = read_rotation(hparams, shape.rotated, shape.context, (*KINDS, LONGROPE))
    scales = Scales(EMBEDDING_SCALE, DEPTH_SCALE / shape.layers**0.5, shape.embd / BASE_WIDTH)
    return Minicpm3Config(shape, rotation, read_latent(hparams, shape, shape.hd, shape.vd, straight=False), scales)


def build(b: StepBuilder, c: Minicpm3Config) -> str:
    """Adds a step's ops."""
    n, scales = c.latent, c.scales
    tables = b.rotation("rope", c.rotation, context_factors(b, c.rotation))
    style = AttentionStyle(tables, RopeLayout.SPLIT, c.shape.hd**-0.5)

    def attention(x: str, layer: int) -> str:
        fused = f"blk.{layer}.attn_kv_b.weight"
        w = HeadMatrices(
            b.matrix_parts(fused, n.nope + n.vd, 0, n.nope),
            b.matrix_parts(fused, n.nope + n.vd, n.nope, n.vd),
            key_rows_in=True,
        )
        return latent_attention(b, x, layer, n, c.shape.eps, style, w)

    x = b.embed("token_embd.weight", scales.embedding)
    x = decoder(b, x, c.shape, attention, lambda y, i: gated_ffn(b, y, i, UnaryOp.SILU), scale=scales.residual)
    return scaled(b, logits(b, x, c.shape.eps), 1.0 / scales.logits)


MINICPM3 = Architecture(
    "minicpm3",
    read,
    (
        *EMBEDDING,
        *CONTEXT_FACTORS,
        *PRE_NORMS,
        *LATENT_ATTENTION,
        need("blk.{}.attn_kv_b.weight", "latent_kv", "rank"),
        *GATED_FFN,
        *HEAD,
    ),
    build,
)
