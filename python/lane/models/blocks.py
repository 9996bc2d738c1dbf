"""The blocks of a decoder, in the variations that families need. Families compose them; none is named here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from lane.graph.ops import Attention, Binary, LayerNorm, MatMul, RmsNorm, Rotate, Scale, SwiGlu, Unary, WriteRows
from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import BinaryOp, UnaryOp
from lane.models.dense import LONG_FACTORS, SHORT_FACTORS, UNSCALED, Scales
from lane.models.rotation import Rotation
from lane.models.shape import DenseShape, LayerShape
from lane.models.step import StepBuilder, Tables


@dataclass(frozen=True, slots=True)
class AttentionStyle:
    """How a layer attends: rotation tables (None: unrotated), pair layout, scale, window and soft cap (0: none)."""

    tables: Tables | None
    layout: RopeLayout
    scale: float
    window: int = 0
    cap: float = 0.0


# --- norms and sums ---------------------------------------------------------------------------------------------------


def rms_norm(b: StepBuilder, x: str, stem: str, out: str, eps: float) -> str:
    """RMS norm of whole rows by the checkpoint's `stem.weight`."""
    return b.add(RmsNorm(x, b.vector(f"{stem}.weight"), out, b.cols(x), eps))


def layer_norm(b: StepBuilder, x: str, stem: str, out: str, eps: float) -> str:
    """LayerNorm of whole rows by the checkpoint's `stem.weight` and, where the file has it, `stem.bias`."""
    bias = b.vector(f"{stem}.bias") if b.has(f"{stem}.bias") else None
    return b.add(LayerNorm(x, b.vector(f"{stem}.weight"), bias, out, b.cols(x), eps))


def unit_norm(b: StepBuilder, x: str, stem: str, eps: float) -> str:
    """RMS norm of every unit as wide as its weight (a head, or the whole row), where the file has one."""
    if not b.has(f"{stem}.weight"):
        return x
    w = b.vector(f"{stem}.weight")
    return b.add(RmsNorm(x, w, f"{x}.normed", b.cols(w), eps))


def scaled(b: StepBuilder, x: str, c: float) -> str:
    """c·x; x itself when c is 1."""
    return x if c == 1.0 else b.add(Scale(x, f"{x}.scaled", c))


# --- layers -----------------------------------------------------------------------------------------------------------

Block = Callable[[str, int], str]  # adds a block's ops on its input in a layer, gives its output
Norm = Callable[[StepBuilder, str, str, str, float], str]  # a norm's, by its tensors' stem and its output's name


@dataclass(frozen=True, slots=True)
class Sublayer:
    """How a block hangs on the residual stream: x ← x + scale·after(block(before(x))).

    `before` and `after` are norms (None: none), each by the names of its tensor and its output in the layer; `out` is
    the sum's name there.
    """

    out: str
    before: tuple[str, str] | None
    after: tuple[str, str] | None = None


PRE_NORM = (Sublayer("attn_sum", ("attn_norm", "attn_norm")), Sublayer("ffn_sum", ("ffn_norm", "ffn_norm")))
# Pre-norm too, under a name of the other norm.
PRE_NORM_NAMED_POST = (PRE_NORM[0], Sublayer("ffn_sum", ("post_attention_norm", "ffn_norm")))
POST_NORM = (
    Sublayer("attn_sum", None, ("post_attention_norm", "post_attn_norm")),
    Sublayer("ffn_sum", None, ("post_ffw_norm", "post_ffn_norm")),
)
SANDWICH = tuple(replace(post, before=pre.before) for pre, post in zip(PRE_NORM, POST_NORM, strict=True))


def decoder(
    b: StepBuilder,
    x: str,
    shape: DenseShape,
    attention: Block,
    ffn: Block,
    *,
    hung: tuple[Sublayer, ...] = PRE_NORM,
    scale: float = 1.0,
    norm: Norm = rms_norm,
) -> str:
    """Every layer: an attention block and a feed-forward block, hung as `hung` says; norms are RMS norms by default."""
    for layer in range(shape.layers):
        for block, how in zip((attention, ffn), hung, strict=True):
            x = sublayer(b, x, layer, block, how, shape.eps, scale, norm)
    return x


def sublayer(
    b: StepBuilder, x: str, layer: int, block: Block, how: Sublayer, eps: float, scale: float, norm: Norm
) -> str:
    """x + scale·after(block(before(x)))."""
    at = f"blk.{layer}"
    y = x if how.before is None else norm(b, x, f"{at}.{how.before[0]}", f"{at}.{how.before[1]}", eps)
    y = block(y, layer)
    if how.after is not None:
        y = norm(b, y, f"{at}.{how.after[0]}", f"{at}.{how.after[1]}", eps)
    return b.add(Binary(BinaryOp.ADD, x, scaled(b, y, scale), f"{at}.{how.out}"))


def pre_norm_decoder(
    b: StepBuilder, shape: DenseShape, style: Callable[[int], AttentionStyle], ffn: Block, scales: Scales = UNSCALED
) -> str:
    """A whole step of pre-norm blocks; `style` says how a layer attends, `ffn` is its feed-forward block."""

    def attention_of(x: str, layer: int) -> str:
        return attention(b, x, layer, shape.at(layer), style(layer))

    x = b.embed("token_embd.weight", scales.embedding)
    x = decoder(b, x, shape, attention_of, ffn, scale=scales.residual)
    return scaled(b, logits(b, x, shape.eps), 1.0 / scales.logits)


def freq_factors(b: StepBuilder) -> str | None:
    """The name of the angles' divisors, where the file has them."""
    return "rope_freqs.weight" if b.has("rope_freqs.weight") else None


def context_factors(b: StepBuilder, rotation: Rotation) -> str | None:
    """The name of longrope's divisors for the context compiled for, where the file has them."""
    if not (b.has(SHORT_FACTORS) or b.has(LONG_FACTORS)):
        return None
    return LONG_FACTORS if b.context > rotation.original_context else SHORT_FACTORS


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


def attention(b: StepBuilder, x: str, layer: int, s: LayerShape, style: AttentionStyle) -> str:
    """Self-attention with its output projection; queries and keys normed where the file has the weights."""
    q, k, v = (project(b, x, layer, part) for part in ("attn_q", "attn_k", "attn_v"))
    q = unit_norm(b, q, f"blk.{layer}.attn_q_norm", s.eps)
    k = unit_norm(b, k, f"blk.{layer}.attn_k_norm", s.eps)
    return project(b, attend(b, (q, k, v), layer, s, style), layer, "attn_output")


def attend(b: StepBuilder, qkv: tuple[str, str, str], layer: int, s: LayerShape, style: AttentionStyle) -> str:
    """Rotation, the caches' new rows, and attention over them, with sinks where the file has them."""
    q, k, v = qkv
    if style.tables is not None:
        q = b.add(Rotate(q, style.tables.cos, style.tables.sin, b.pos, f"{q}.turned", s.hd, style.layout))
        k = b.add(Rotate(k, style.tables.cos, style.tables.sin, b.pos, f"{k}.turned", s.hd, style.layout))
    keys, values = b.cache(f"blk.{layer}.k_cache", s.k), b.cache(f"blk.{layer}.v_cache", s.v)
    b.add(WriteRows(keys, k, b.pos))
    b.add(WriteRows(values, v, b.pos))
    sinks = f"blk.{layer}.attn_sinks.weight"
    return b.add(
        Attention(
            q,
            keys,
            values,
            b.pos,
            b.vector(sinks) if b.has(sinks) else None,
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
    return head(b, rms_norm(b, b.head_rows(x), "output_norm", "output_norm", eps))


def head(b: StepBuilder, normed: str) -> str:
    """The vocabulary product by the head's own matrix where the file has one, else by the embedding's, and its bias."""
    w = b.matrix("output.weight" if b.has("output.weight") else "token_embd.weight")
    return add_bias(b, b.add(MatMul(normed, w, "logits")), "output.bias")


def soft_capped(b: StepBuilder, x: str, cap: float) -> str:
    """cap·tanh(x / cap); x itself when cap is 0."""
    return x if cap == 0.0 else b.add(Unary(UnaryOp.SOFT_CAP, x, f"{x}.capped", cap))
