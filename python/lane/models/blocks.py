"""The blocks of a dense decoder, in the variations that families need. Families compose them; none is named here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lane.graph.ops import Attention, Binary, LayerNorm, MatMul, RmsNorm, Rotate, Scale, SwiGlu, Unary, WriteRows
from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import BinaryOp, UnaryOp
from lane.models.dense import LONG_FACTORS, SHORT_FACTORS, DenseShape, Scales
from lane.models.rotation import Rotation
from lane.models.step import StepBuilder, Tables


@dataclass(frozen=True, slots=True)
class AttentionStyle:
    """How a layer attends: rotation tables (None: unrotated), pair layout, scale, window and soft cap (0: none)."""

    tables: Tables | None
    layout: RopeLayout
    scale: float
    window: int = 0
    cap: float = 0.0


# --- layers -----------------------------------------------------------------------------------------------------------


def pre_norm_layers(
    b: StepBuilder, x: str, s: DenseShape, style: Callable[[int], AttentionStyle], act: UnaryOp, scale: float = 1.0
) -> str:
    """Every layer as x ← x + scale·attention(norm(x)), x ← x + scale·ffn(norm(x)); `style` says how a layer attends."""
    for i in range(s.layers):
        normed = rms_norm(b, x, f"blk.{i}.attn_norm.weight", f"blk.{i}.attn_norm", s.eps)
        x = residual(b, x, attention(b, normed, i, s, style(i)), f"blk.{i}.attn_sum", scale)
        normed = rms_norm(b, x, f"blk.{i}.ffn_norm.weight", f"blk.{i}.ffn_norm", s.eps)
        x = residual(b, x, gated_ffn(b, normed, i, act), f"blk.{i}.ffn_sum", scale)
    return x


def scaled_decoder(b: StepBuilder, s: DenseShape, style: AttentionStyle, scales: Scales) -> str:
    """A whole step of llama's blocks, scaled."""
    x = b.embed("token_embd.weight", scales.embedding)
    x = pre_norm_layers(b, x, s, lambda _: style, UnaryOp.SILU, scales.residual)
    return scaled(b, logits(b, x, s.eps), 1.0 / scales.logits)


def sandwich_layers(b: StepBuilder, x: str, s: DenseShape, style: Callable[[int], AttentionStyle], act: UnaryOp) -> str:
    """Every layer as x ← x + norm(attention(norm(x))), x ← x + norm(ffn(norm(x)))."""
    for i in range(s.layers):
        normed = rms_norm(b, x, f"blk.{i}.attn_norm.weight", f"blk.{i}.attn_norm", s.eps)
        y = attention(b, normed, i, s, style(i))
        x = residual(b, x, post_attention_norm(b, y, i, s.eps), f"blk.{i}.attn_sum")
        normed = rms_norm(b, x, f"blk.{i}.ffn_norm.weight", f"blk.{i}.ffn_norm", s.eps)
        x = residual(b, x, post_ffn_norm(b, gated_ffn(b, normed, i, act), i, s.eps), f"blk.{i}.ffn_sum")
    return x


def freq_factors(b: StepBuilder) -> str | None:
    """The name of the angles' divisors, where the file has them."""
    return "rope_freqs.weight" if b.has("rope_freqs.weight") else None


def context_factors(b: StepBuilder, rotation: Rotation) -> str | None:
    """The name of longrope's divisors for the context compiled for, where the file has them."""
    if not (b.has(SHORT_FACTORS) or b.has(LONG_FACTORS)):
        return None
    return LONG_FACTORS if b.context > rotation.original_context else SHORT_FACTORS


# --- norms and sums ---------------------------------------------------------------------------------------------------


def rms_norm(b: StepBuilder, x: str, weight: str, out: str, eps: float) -> str:
    """RMS norm of whole rows by a checkpoint vector."""
    return b.add(RmsNorm(x, b.vector(weight), out, b.cols(x), eps))


def layer_norm(b: StepBuilder, x: str, stem: str, eps: float) -> str:
    """LayerNorm of whole rows by the checkpoint's `stem.weight` and, where the file has it, `stem.bias`."""
    bias = b.vector(f"{stem}.bias") if b.has(f"{stem}.bias") else None
    return b.add(LayerNorm(x, b.vector(f"{stem}.weight"), bias, stem, b.cols(x), eps))


def post_attention_norm(b: StepBuilder, y: str, layer: int, eps: float) -> str:
    """The norm of an attention's output before it is added."""
    return rms_norm(b, y, f"blk.{layer}.post_attention_norm.weight", f"blk.{layer}.post_attn_norm", eps)


def post_ffn_norm(b: StepBuilder, y: str, layer: int, eps: float) -> str:
    """The norm of a feed-forward block's output before it is added."""
    return rms_norm(b, y, f"blk.{layer}.post_ffw_norm.weight", f"blk.{layer}.post_ffn_norm", eps)


def head_norm(b: StepBuilder, x: str, weight: str, hd: int, eps: float) -> str:
    """RMS norm of every head, where the file has its weight."""
    if not b.has(weight):
        return x
    return b.add(RmsNorm(x, b.vector(weight), f"{x}.normed", hd, eps))


def residual(b: StepBuilder, x: str, y: str, out: str, scale: float = 1.0) -> str:
    """x + scale·y."""
    return b.add(Binary(BinaryOp.ADD, x, scaled(b, y, scale), out))


def scaled(b: StepBuilder, x: str, c: float) -> str:
    """c·x; x itself when c is 1."""
    return x if c == 1.0 else b.add(Scale(x, f"{x}.scaled", c))


# --- projections ------------------------------------------------------------------------------------------------------


def project(b: StepBuilder, x: str, layer: int, part: str) -> str:
    """Projection by `blk.N.part.weight`, plus its bias where the file has one."""
    stem = f"blk.{layer}.{part}"
    y = b.add(MatMul(x, b.matrix(f"{stem}.weight"), stem))
    return add_bias(b, y, f"{stem}.bias")


def project_parts(b: StepBuilder, x: str, layer: int, fused: str, parts: tuple[tuple[str, int], ...]) -> list[str]:
    """Projections by consecutive rows of one tensor, `blk.N.fused.weight`: a name and a row count each."""
    projected, first = [], 0
    for part, rows in parts:
        w = b.matrix_rows(f"blk.{layer}.{fused}.weight", first, rows)
        projected.append(b.add(MatMul(x, w, f"blk.{layer}.{part}")))
        first += rows
    return projected


def add_bias(b: StepBuilder, y: str, bias: str) -> str:
    """y plus a bias row, where the file has one."""
    if not b.has(bias):
        return y
    return b.add(Binary(BinaryOp.ADD, y, b.vector(bias), f"{y}.biased"))


# --- attention and feed-forward ---------------------------------------------------------------------------------------


def attention(b: StepBuilder, x: str, layer: int, s: DenseShape, style: AttentionStyle) -> str:
    """Self-attention with its output projection; queries and keys normed per head where the file has the weights."""
    q, k, v = (project(b, x, layer, part) for part in ("attn_q", "attn_k", "attn_v"))
    q = head_norm(b, q, f"blk.{layer}.attn_q_norm.weight", s.hd, s.eps)
    k = head_norm(b, k, f"blk.{layer}.attn_k_norm.weight", s.hd, s.eps)
    return project(b, attend(b, (q, k, v), layer, s, style), layer, "attn_output")


def attend(b: StepBuilder, qkv: tuple[str, str, str], layer: int, s: DenseShape, style: AttentionStyle) -> str:
    """Rotation, the caches' new rows, and attention over them."""
    q, k, v = qkv
    if style.tables is not None:
        q = b.add(Rotate(q, style.tables.cos, style.tables.sin, b.pos, f"{q}.turned", s.hd, style.layout))
        k = b.add(Rotate(k, style.tables.cos, style.tables.sin, b.pos, f"{k}.turned", s.hd, style.layout))
    keys, values = b.cache(f"blk.{layer}.k_cache", s.k), b.cache(f"blk.{layer}.v_cache", s.v)
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
            s.heads,
            s.kv_heads,
            s.hd,
            s.vd,
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
    return b.add(Binary(BinaryOp.MUL, activated(b, gate, act), up, f"blk.{layer}.ffn_gated"))


def activated(b: StepBuilder, x: str, act: UnaryOp) -> str:
    """act(x)."""
    return b.add(Unary(act, x, f"{x}.activated"))


# --- the head ---------------------------------------------------------------------------------------------------------


def logits(b: StepBuilder, x: str, eps: float) -> str:
    """Logits of the rows that get them: RMS norm by `output_norm`, then the head."""
    return head(b, rms_norm(b, b.head_rows(x), "output_norm.weight", "output_norm", eps))


def head(b: StepBuilder, normed: str) -> str:
    """The vocabulary product by the head's own matrix where the file has one, else by the embedding's, and its bias."""
    w = b.matrix("output.weight" if b.has("output.weight") else "token_embd.weight")
    return add_bias(b, b.add(MatMul(normed, w, "logits")), "output.bias")


def soft_capped(b: StepBuilder, x: str, cap: float) -> str:
    """cap·tanh(x / cap); x itself when cap is 0."""
    return x if cap == 0.0 else b.add(Unary(UnaryOp.SOFT_CAP, x, f"{x}.capped", cap))
