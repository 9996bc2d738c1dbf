"""Gated DeltaNet layers among layers of gated attention: what the families that have them share.

A recurrent layer projects queries, keys and values, which a causal convolution and SiLU pass over; queries and keys are
brought to unit length per head, the gated delta rule reads and writes a memory per value head, and what it reads is
normed and gated by SiLU(z). A layer of attention gates what it attends by the sigmoid of half of the query projection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lane.graph.ops import Binary, Conv, Decay, Delta, L2Norm, RmsNorm, Slice, SwiGlu
from lane.launch.meaning.elementwise import BinaryOp, UnaryOp
from lane.models.architecture import TensorRow, need, only
from lane.models.blocks import AttentionStyle, activated, attend, project, scaled, unit_norm
from lane.models.dense import HEAD_NORMS
from lane.models.hparams import Hparams
from lane.models.part import Dim, Part
from lane.models.shape import MAX_HEAD, DenseShape, LayerShape
from lane.models.step import StepBuilder

INTERVAL = 4  # the last of every four layers attends, in files that do not say


@dataclass(frozen=True)
class DeltaNet(Part):
    """Taps of the convolution, heads of `d` values, and which layers recur and which attend."""

    taps: int
    d: int
    key_heads: int
    value_heads: int
    recurrent: tuple[int, ...]
    attending: tuple[int, ...]

    @property
    def k(self) -> int:
        """Width of a row of keys, or of queries."""
        return self.key_heads * self.d

    @property
    def v(self) -> int:
        """Width of a row of values."""
        return self.value_heads * self.d

    def dims(self) -> Mapping[str, Dim]:
        """The names that tensor tables use."""
        return {
            "taps": self.taps,
            "delta_d": self.d,
            "delta_v": self.v,
            "delta_qkv": 2 * self.k + self.v,
            "delta_heads": self.value_heads,
            "delta_gates": 2 * self.value_heads,
        }

    def kinds(self) -> Mapping[str, tuple[int, ...]]:
        """The two kinds of layers."""
        return {"recurrent": self.recurrent, "attention": self.attending}


def read_delta_net(hparams: Hparams, shape: DenseShape) -> DeltaNet:
    """Reads the keys."""
    d = hparams.count("ssm.state_size", high=MAX_HEAD)
    key_heads, value_heads = hparams.count("ssm.group_count"), hparams.count("ssm.time_step_rank")
    hparams.require(
        value_heads % key_heads == 0,
        f"ssm.time_step_rank is {value_heads}, allowed a multiple of ssm.group_count, {key_heads}",
    )
    inner = hparams.count("ssm.inner_size")
    hparams.require(
        inner == value_heads * d, f"ssm.inner_size is {inner}, allowed {value_heads * d}, the value heads' width"
    )
    recurs = _read_recurrent(hparams, shape)
    return DeltaNet(
        hparams.count("ssm.conv_kernel", high=MAX_HEAD),
        d,
        key_heads,
        value_heads,
        tuple(i for i in range(shape.layers) if recurs[i]),
        tuple(i for i in range(shape.layers) if not recurs[i]),
    )


def _read_recurrent(hparams: Hparams, shape: DenseShape) -> tuple[bool, ...]:
    interval = hparams.count("full_attention_interval", INTERVAL)
    if hparams.is_array("attention.recurrent_layers"):
        return hparams.flags("attention.recurrent_layers", shape.layers + shape.unused_layers)[: shape.layers]
    return tuple((i + 1) % interval != 0 for i in range(shape.layers))


Gates = Callable[[str, int], tuple[str, str]]  # adds a layer's write strengths and forget gates, before activation


def delta_layer(b: StepBuilder, x: str, layer: int, n: DeltaNet, eps: float, gates: Gates, *, tiled: bool) -> str:
    """A recurrent layer's block; `tiled` is how value heads share key heads."""
    at = f"blk.{layer}"
    mixed, z = project(b, x, layer, "attn_qkv"), project(b, x, layer, "attn_gate")
    ring = b.state(f"{at}.conv_ring", n.taps, b.cols(mixed))
    mixed = b.add(Conv(mixed, b.table(f"{at}.ssm_conv1d.weight"), ring, b.pos, f"{at}.convolved", n.taps))
    mixed = activated(b, mixed, UnaryOp.SILU)
    every = b.cols(mixed)
    q, k = (
        b.add(
            L2Norm(b.add(Slice(mixed, f"{at}.delta_{part}", every, i * n.k, n.k)), f"{at}.delta_{part}.unit", n.d, eps)
        )
        for i, part in enumerate("qk")
    )
    v = b.add(Slice(mixed, f"{at}.delta_v", every, 2 * n.k, n.v))
    strength, forget = gates(x, layer)
    beta = activated(b, strength, UnaryOp.SIGMOID)
    g = b.add(Decay(forget, b.vector(f"{at}.ssm_dt.bias"), b.vector(f"{at}.ssm_a"), f"{at}.decay"))
    memory = b.state(f"{at}.memory", n.value_heads, n.d * n.d)
    q = scaled(b, q, n.d**-0.5)
    y = b.add(Delta(q, k, v, g, beta, memory, f"{at}.delta", n.key_heads, n.value_heads, n.d, tiled))
    y = b.add(RmsNorm(y, b.vector(f"{at}.ssm_norm.weight"), f"{at}.delta.normed", n.d, eps))
    return project(b, b.add(SwiGlu(z, y, f"{at}.delta.gated")), layer, "ssm_out")


def gated_attention(b: StepBuilder, x: str, layer: int, s: LayerShape, style: AttentionStyle) -> str:
    """Attention whose query projection carries, head by head, the query and then the output's gate."""
    both, k, v = (project(b, x, layer, part) for part in ("attn_q", "attn_k", "attn_v"))
    q = b.add(Slice(both, f"blk.{layer}.query", 2 * s.hd, 0, s.hd))
    gate = b.add(Slice(both, f"blk.{layer}.gate", 2 * s.hd, s.hd, s.hd))
    q = unit_norm(b, q, f"blk.{layer}.attn_q_norm", s.eps)
    k = unit_norm(b, k, f"blk.{layer}.attn_k_norm", s.eps)
    y = attend(b, (q, k, v), layer, s, style)
    y = b.add(Binary(BinaryOp.MUL, y, activated(b, gate, UnaryOp.SIGMOID), f"blk.{layer}.attended.gated"))
    return project(b, y, layer, "attn_output")


GATED_ATTENTION: tuple[TensorRow, ...] = only(
    "attention",
    (
        need("blk.{}.attn_q.weight", "q_and_gate", "embd"),
        need("blk.{}.attn_k.weight", "k", "embd"),
        need("blk.{}.attn_v.weight", "v", "embd"),
        need("blk.{}.attn_output.weight", "embd", "o"),
        *HEAD_NORMS,
    ),
)
DELTA_NET: tuple[TensorRow, ...] = only(
    "recurrent",
    (
        need("blk.{}.attn_qkv.weight", "delta_qkv", "embd"),
        need("blk.{}.attn_gate.weight", "delta_v", "embd"),
        need("blk.{}.ssm_conv1d.weight", "delta_qkv", "taps", plain=True),
        need("blk.{}.ssm_dt.bias", "delta_heads"),
        need("blk.{}.ssm_a", "delta_heads"),
        need("blk.{}.ssm_norm.weight", "delta_d"),
        need("blk.{}.ssm_out.weight", "embd", "delta_v"),
    ),
)
