"""Gated DeltaNet's ops: convolution over a ring, gates, the delta rule.

Declared with their shape rules; their float64 meanings come with the hybrid families.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lane.graph.ops.base import Op, Reads, Shape, Tensors, Updates, Writes


@dataclass(frozen=True)
class Conv(Op):
    """Causal depthwise convolution y = Σ_t w_t · x_{pos − taps + 1 + t} over a ring of the last `taps` rows."""

    kind: ClassVar[str] = "conv"

    x: Reads
    w: Reads
    ring: Updates
    pos: Reads
    out: Writes
    taps: int

    def infer(self, tensors: Tensors) -> Shape:
        x, w, ring = tensors[self.x], tensors[self.w], tensors[self.ring]
        self.need(w.elems == self.taps * x.cols, f"{w.elems} weights, allowed {self.taps}·{x.cols}")
        self.need(
            (ring.rows, ring.cols) == (self.taps, x.cols),
            f"ring of {ring.rows}x{ring.cols}, allowed {self.taps}x{x.cols}",
        )
        return x.rows, x.cols


@dataclass(frozen=True)
class Decay(Op):
    """Forget gate g = (1 + e^(a + dt))^al per head, `al` being the negative log-decay weight."""

    kind: ClassVar[str] = "decay"

    a: Reads
    dt: Reads
    al: Reads
    out: Writes

    def infer(self, tensors: Tensors) -> Shape:
        a = tensors[self.a]
        for name in (self.dt, self.al):
            self.need(tensors[name].elems == a.cols, f"'{name}' has {tensors[name].elems} values, allowed {a.cols}")
        return a.rows, a.cols


@dataclass(frozen=True)
class Delta(Op):
    """Gated delta rule per value head with memory S (d × d).

    S ← g·S; u = β·(v − Sᵀk); S ← S + k·uᵀ; o = Sᵀq.
    """

    kind: ClassVar[str] = "delta"

    q: Reads
    k: Reads
    v: Reads
    g: Reads
    beta: Reads
    state: Updates
    out: Writes
    key_heads: int
    value_heads: int
    d: int

    def infer(self, tensors: Tensors) -> Shape:
        q, k, v, state = tensors[self.q], tensors[self.k], tensors[self.v], tensors[self.state]
        for t in (q, k):
            self.need(
                t.cols == self.key_heads * self.d,
                f"'{t.name}' is {t.cols} wide, allowed {self.key_heads}·{self.d}",
            )
        self.need(
            v.cols == self.value_heads * self.d,
            f"values are {v.cols} wide, allowed {self.value_heads}·{self.d}",
        )
        self.need(
            self.key_heads > 0 and self.value_heads % self.key_heads == 0,
            f"{self.value_heads} value heads, allowed a multiple of {self.key_heads}",
        )
        size = self.value_heads * self.d * self.d
        self.need(state.elems == size, f"memory of {state.elems} values, allowed {size}")
        return v.rows, v.cols
