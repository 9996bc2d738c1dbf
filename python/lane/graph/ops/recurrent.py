"""Gated DeltaNet's ops: convolution over a ring, the forget gate, the delta rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lane.graph.ops.base import Arrays, Op, Reads, Shape, Tensors, Updates, Writes, f64
from lane.launch.meaning.recurrent import convolve, decay, delta_rule, key_head


@dataclass(frozen=True)
class Conv(Op):
    """Causal depthwise convolution y = Σ_t w_t · x_{pos − taps + 1 + t} over a ring of the last `taps` rows.

    w holds the `taps` weights of one channel after those of another. What lies before position 0 is 0.
    """

    kind: ClassVar[str] = "conv"

    x: Reads
    w: Reads
    ring: Updates
    pos: Reads
    out: Writes
    taps: int

    def infer(self, tensors: Tensors) -> Shape:
        x, w, ring = tensors[self.x], tensors[self.w], tensors[self.ring]
        self.need(
            (w.rows, w.cols) == (x.cols, self.taps),
            f"weights of {w.rows}x{w.cols}, allowed {x.cols}x{self.taps}",
        )
        self.need(
            (ring.rows, ring.cols) == (self.taps, x.cols),
            f"ring of {ring.rows}x{ring.cols}, allowed {self.taps}x{x.cols}",
        )
        return x.rows, x.cols

    def compute(self, arrays: Arrays) -> None:
        w = f64(arrays[self.w])
        arrays[self.out] = convolve(arrays[self.x], w, arrays[self.ring], int(arrays[self.pos][0, 0]))


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

    def compute(self, arrays: Arrays) -> None:
        dt, al = (f64(arrays[name].reshape(-1)) for name in (self.dt, self.al))
        arrays[self.out] = decay(arrays[self.a], dt, al)


@dataclass(frozen=True)
class Delta(Op):
    """Gated delta rule per value head with memory S (d × d), by the forget gates g and the write strengths beta.

    S ← g·S; u = β·(v − Sᵀk); S ← S + k·uᵀ; o = Sᵀq. Value head v has key head v // (value_heads / key_heads), or
    `tiled` v mod key_heads.
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
    tiled: bool = False

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
        for name in (self.g, self.beta):
            gate = tensors[name]
            self.need(
                (gate.rows, gate.cols) == (v.rows, self.value_heads),
                f"'{name}' is {gate.rows}x{gate.cols}, allowed {v.rows}x{self.value_heads}",
            )
        size = self.value_heads * self.d * self.d
        self.need(state.elems == size, f"memory of {state.elems} values, allowed {size}")
        return v.rows, v.cols

    def compute(self, arrays: Arrays) -> None:
        heads = key_head(self.value_heads, self.key_heads, self.tiled)
        q, k, v = (arrays[name].reshape(len(arrays[name]), -1, self.d) for name in (self.q, self.k, self.v))
        memory = arrays[self.state].reshape(self.value_heads, self.d, self.d)  # a view: updated in place
        out = delta_rule(q[:, heads], k[:, heads], v, arrays[self.g], arrays[self.beta], memory)
        arrays[self.out] = out.reshape(len(v), -1)
