"""The two blocks of a dense decoder layer, in the variations that families need. Families compose them; none is named here."""

from __future__ import annotations

from dataclasses import dataclass

from lane.graph.ops import Attention, Binary, MatMul, RmsNorm, Rotate, SwiGlu, Unary, WriteRows
from lane.launch.attention import RopeLayout
from lane.launch.elementwise import BinaryOp, UnaryOp
from lane.models.step import StepBuilder, Tables


@dataclass(frozen=True, slots=True)
class Heads:
    """The shape of an attention: query heads, key/value heads, key and value head widths."""

    heads: int
    kv_heads: int
    hd: int
    vd: int

    @property
    def q(self) -> int:
        """Width of a row of queries."""
        return self.heads * self.hd

    @property
    def k(self) -> int:
        """Width of a row of keys."""
        return self.kv_heads * self.hd

    @property
    def v(self) -> int:
        """Width of a row of values."""
        return self.kv_heads * self.vd

    @property
    def o(self) -> int:
        """Width of a row of attention's output."""
        return self.heads * self.vd


@dataclass(frozen=True, slots=True)
class AttentionStyle:
    """How a layer attends: rotation tables (None: no rotation), pair layout, scale, window (0: none), soft cap (0: none)."""

    tables: Tables | None
    layout: RopeLayout
    scale: float
    window: int = 0
    cap: float = 0.0


def rms_norm(b: StepBuilder, x: str, weight: str, out: str, eps: float) -> str:
    """RMS norm of whole rows by a checkpoint vector."""
    return b.add(RmsNorm(x, b.vector(weight), out, b.cols(x), eps))


def project(b: StepBuilder, x: str, layer: int, part: str) -> str:
    """Projection by `blk.N.part.weight`, plus its bias where the file has one."""
    stem = f"blk.{layer}.{part}"
    y = b.add(MatMul(x, b.matrix(f"{stem}.weight"), stem))
    return add_bias(b, y, f"{stem}.bias")


def add_bias(b: StepBuilder, y: str, bias: str) -> str:
    """y plus a bias row, where the file has one."""
    if not b.has(bias):
        return y
    return b.add(Binary(BinaryOp.ADD, y, b.vector(bias), f"{y}.biased"))


def residual(b: StepBuilder, x: str, y: str, out: str) -> str:
    """x + y."""
    return b.add(Binary(BinaryOp.ADD, x, y, out))


def attention(b: StepBuilder, x: str, layer: int, heads: Heads, style: AttentionStyle, eps: float) -> str:
    """Self-attention of a normed block, output projection included; queries and keys normed per head where the file says so."""
    q, k, v = (project(b, x, layer, part) for part in ("attn_q", "attn_k", "attn_v"))
    q = head_norm(b, q, f"blk.{layer}.attn_q_norm.weight", heads.hd, eps)
    k = head_norm(b, k, f"blk.{layer}.attn_k_norm.weight", heads.hd, eps)
    attended = attend(b, (q, k, v), layer, heads, style)
    return project(b, attended, layer, "attn_output")


def head_norm(b: StepBuilder, x: str, weight: str, hd: int, eps: float) -> str:
    """RMS norm of every head, where the file has its weight."""
    if not b.has(weight):
        return x
    return b.add(RmsNorm(x, b.vector(weight), f"{x}.normed", hd, eps))


def attend(b: StepBuilder, qkv: tuple[str, str, str], layer: int, heads: Heads, style: AttentionStyle) -> str:
    """Rotation, the caches' new rows, and attention over them."""
    q, k, v = qkv
    if style.tables is not None:
        q = b.add(Rotate(q, style.tables.cos, style.tables.sin, b.pos, f"{q}.turned", heads.hd, style.layout))
        k = b.add(Rotate(k, style.tables.cos, style.tables.sin, b.pos, f"{k}.turned", heads.hd, style.layout))
    keys, values = b.cache(f"blk.{layer}.k_cache", heads.k), b.cache(f"blk.{layer}.v_cache", heads.v)
    b.add(WriteRows(keys, k, b.pos))
    b.add(WriteRows(values, v, b.pos))
    return b.add(
        Attention(
            q,
            keys,
            values,
            b.pos,
            None,
            f"blk.{layer}.attended",
            heads.heads,
            heads.kv_heads,
            heads.hd,
            heads.vd,
            style.scale,
            style.window,
            style.cap,
        )
    )


def gated_ffn(b: StepBuilder, x: str, layer: int, act: UnaryOp) -> str:
    """down(act(gate(x))·up(x))."""
    gate, up = project(b, x, layer, "ffn_gate"), project(b, x, layer, "ffn_up")
    return project(b, gate_product(b, gate, up, layer, act), layer, "ffn_down")


def gate_product(b: StepBuilder, gate: str, up: str, layer: int, act: UnaryOp) -> str:
    """act(gate)·up."""
    if act is UnaryOp.SILU:
        return b.add(SwiGlu(gate, up, f"blk.{layer}.ffn_gated"))
    activated = b.add(Unary(act, gate, f"{gate}.activated"))
    return b.add(Binary(BinaryOp.MUL, activated, up, f"blk.{layer}.ffn_gated"))


def output_matrix(b: StepBuilder) -> str:
    """The head's matrix: its own where the file has one, else the embedding's."""
    return b.matrix("output.weight" if b.has("output.weight") else "token_embd.weight")


def logits_of(b: StepBuilder, normed: str) -> str:
    """The vocabulary product of the rows that get logits."""
    return b.add(MatMul(normed, output_matrix(b), "logits"))
