"""Latent attention: what the families that have it share (arXiv:2405.04434).

A row's keys and values of all heads are two projections of one latent vector of `rank` values; the cache holds it,
normed, and beside it the one rotated key part that all heads share. Absorbed: a head's query is brought into the latent
space by its key matrix and attends there over the cached rows, whose values lie in the keys; what it attends is brought
out by its value matrix. The queries may themselves come through a latent vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lane.graph.ops import Attention, HeadMatMul, Join, Rotate, Slice, WriteRows
from lane.models.architecture import TensorRow, need, only
from lane.models.blocks import AttentionStyle, project, rms_norm
from lane.models.hparams import Hparams
from lane.models.part import Dim, Part
from lane.models.shape import DenseShape
from lane.models.step import StepBuilder


@dataclass(frozen=True)
class Latent(Part):
    """Widths of the latent vectors (`q_rank` 0: queries are projected straight), and of a head: its query's unrotated
    and rotated values, its values."""

    layers: int
    heads: int
    q_rank: int
    rank: int
    nope: int
    rope: int
    vd: int

    @property
    def key(self) -> int:
        """Width of a cached row: a latent vector and a rotated key part."""
        return self.rank + self.rope

    def dims(self) -> Mapping[str, Dim]:
        """The names that tensor tables use."""
        return {
            "q_rank": self.q_rank,
            "rank": self.rank,
            "latent_key": self.key,
            "nope": self.nope,
            "latent_v": self.vd,
            "latent_q": self.heads * (self.nope + self.rope),
            "latent_kv": self.heads * (self.nope + self.vd),
            "latent_o": self.heads * self.vd,
        }

    def kinds(self) -> Mapping[str, tuple[int, ...]]:
        """Whether queries have a latent vector of their own."""
        every = tuple(range(self.layers))
        return {"q_latent": every if self.q_rank else (), "q_straight": () if self.q_rank else every}


@dataclass(frozen=True, slots=True)
class HeadMatrices:
    """The stacked matrices of all heads: `key` brings a query's unrotated values into the latent space (its rows are
    inputs if `key_rows_in`), `value` brings what was attended out of it."""

    key: str
    value: str
    key_rows_in: bool


def read_latent(hparams: Hparams, shape: DenseShape, hd: int, vd: int, *, straight: bool) -> Latent:
    """Reads the keys; a head's queries are `hd` values, its values `vd`. `straight`: queries may have no latent."""
    heads = shape.heads[0]
    hparams.require(
        all(h == heads for h in shape.heads), f"attention.head_count is {list(shape.heads)}, allowed one number"
    )
    rope = shape.rotated
    hparams.require(rope < hd, f"rope.dimension_count is {rope}, allowed less than a head's {hd} values")
    q_rank = hparams.count("attention.q_lora_rank", 0 if straight else None, low=0 if straight else 1)
    return Latent(shape.layers, heads, q_rank, hparams.count("attention.kv_lora_rank"), hd - rope, rope, vd)


def latent_attention(
    b: StepBuilder, x: str, layer: int, n: Latent, eps: float, style: AttentionStyle, w: HeadMatrices
) -> str:
    """The absorbed form, with its output projection."""
    at, tables = f"blk.{layer}", style.tables
    assert tables is not None
    q = latent_query(b, x, layer, n, eps)
    nope = b.add(Slice(q, f"{at}.query", n.nope + n.rope, 0, n.nope))
    rope = b.add(Slice(q, f"{at}.query_rope", n.nope + n.rope, n.nope, n.rope))
    rope = b.add(Rotate(rope, tables.cos, tables.sin, b.pos, f"{rope}.turned", n.rope, style.layout))
    inward = b.add(HeadMatMul(nope, w.key, f"{at}.query_latent", n.heads, n.nope, n.rank, rows_in=w.key_rows_in))
    query = b.add(Join(inward, rope, f"{at}.query_joined", n.rank, n.rope))

    both = project(b, x, layer, "attn_kv_a_mqa")
    latent = b.add(Slice(both, f"{at}.latent", n.key, 0, n.rank))
    latent = rms_norm(b, latent, f"{at}.attn_kv_a_norm", f"{latent}.normed", eps)
    rest = b.add(Slice(both, f"{at}.key_rope", n.key, n.rank, n.rope))
    rest = b.add(Rotate(rest, tables.cos, tables.sin, b.pos, f"{rest}.turned", n.rope, style.layout))
    cache = b.cache(f"{at}.latent_cache", n.key)
    b.add(WriteRows(cache, b.add(Join(latent, rest, f"{at}.key_joined", n.rank, n.rope)), b.pos))

    y = b.add(
        Attention(
            query,
            cache,
            cache,
            b.pos,
            None,
            f"{at}.attended",
            n.heads,
            1,
            n.key,
            n.rank,
            style.scale,
            value_start=0,
        )
    )
    return project(b, b.add(HeadMatMul(y, w.value, f"{at}.outward", n.heads, n.rank, n.vd)), layer, "attn_output")


def latent_query(b: StepBuilder, x: str, layer: int, n: Latent, eps: float) -> str:
    """Every head's query, unrotated values first."""
    if not n.q_rank:
        return project(b, x, layer, "attn_q")
    inner = project(b, x, layer, "attn_q_a")
    inner = rms_norm(b, inner, f"blk.{layer}.attn_q_a_norm", f"{inner}.normed", eps)
    return project(b, inner, layer, "attn_q_b")


STRAIGHT_QUERY: tuple[TensorRow, ...] = only("q_straight", (need("blk.{}.attn_q.weight", "latent_q", "embd"),))
LATENT_ATTENTION: tuple[TensorRow, ...] = (
    *only(
        "q_latent",
        (
            need("blk.{}.attn_q_a.weight", "q_rank", "embd"),
            need("blk.{}.attn_q_a_norm.weight", "q_rank"),
            need("blk.{}.attn_q_b.weight", "latent_q", "q_rank"),
        ),
    ),
    need("blk.{}.attn_kv_a_mqa.weight", "latent_key", "embd"),
    need("blk.{}.attn_kv_a_norm.weight", "rank"),
    need("blk.{}.attn_output.weight", "embd", "latent_o"),
)
