"""Rotation and attention over carried caches. Their meanings are the launches' own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lane.graph.ops.base import Arrays, Op, Reads, Shape, Tensors, Writes
from lane.launch.attention import AttentionShape, RopeLayout, attend, rotate


@dataclass(frozen=True)
class Rotate(Op):
    """RoPE: the first 2·half values of every head of `hd` turned by row pos + r of the tables (half wide)."""

    kind: ClassVar[str] = "rotate"

    x: Reads
    cos: Reads
    sin: Reads
    pos: Reads
    out: Writes
    hd: int
    layout: RopeLayout

    def infer(self, tensors: Tensors) -> Shape:
        x, cos, sin = tensors[self.x], tensors[self.cos], tensors[self.sin]
        self.need(self.hd > 0 and x.cols % self.hd == 0, f"heads of {self.hd} values, allowed a divisor of {x.cols}")
        self.need(2 * cos.cols <= self.hd, f"{2 * cos.cols} rotated values, allowed at most {self.hd}")
        self.need((cos.rows, cos.cols) == (sin.rows, sin.cols), "the cos and sin tables differ in shape")
        self.need(x.rows <= cos.rows, f"{x.rows} rows, allowed {cos.rows} positions")
        return x.rows, x.cols

    def compute(self, arrays: Arrays) -> None:
        x = arrays[self.x]
        rows = int(arrays[self.pos][0, 0]) + np.arange(len(x))
        cos, sin = arrays[self.cos][rows].astype(np.float64), arrays[self.sin][rows].astype(np.float64)
        arrays[self.out] = rotate(x.reshape(len(x), -1, self.hd), cos, sin, self.layout).reshape(x.shape)


@dataclass(frozen=True)
class Attention(Op):
    """Attention of the block's rows over the cached rows at or before each; see `lane.launch.attention.Attention`.

    `kv_heads` heads in the caches, each of `hd` key and `vd` value values; the query heads group evenly over them.
    """

    kind: ClassVar[str] = "attention"

    q: Reads
    keys: Reads
    values: Reads
    pos: Reads
    sinks: Reads | None
    out: Writes
    heads: int
    kv_heads: int
    hd: int
    vd: int
    scale: float
    window: int = 0
    cap: float = 0.0

    def infer(self, tensors: Tensors) -> Shape:
        q, k, v = tensors[self.q], tensors[self.keys], tensors[self.values]
        self.need(
            self.kv_heads > 0 and self.heads % self.kv_heads == 0,
            f"{self.heads} heads, allowed a multiple of {self.kv_heads}",
        )
        self.need(q.cols == self.heads * self.hd, f"queries are {q.cols} wide, allowed {self.heads}·{self.hd}")
        self.need(k.cols == self.kv_heads * self.hd, f"keys are {k.cols} wide, allowed {self.kv_heads}·{self.hd}")
        self.need(v.cols == self.kv_heads * self.vd, f"values are {v.cols} wide, allowed {self.kv_heads}·{self.vd}")
        self.need(k.rows == v.rows, f"{v.rows} value rows, allowed {k.rows}")
        self.need(self.window >= 0 and self.cap >= 0, f"window {self.window} and cap {self.cap}, allowed 0 or more")
        if self.sinks is not None:
            self.need(
                tensors[self.sinks].elems == self.heads,
                f"{tensors[self.sinks].elems} sinks, allowed {self.heads}",
            )
        return q.rows, self.heads * self.vd

    def compute(self, arrays: Arrays) -> None:
        q = arrays[self.q]
        group = self.heads // self.kv_heads
        out = attend(
            q.reshape(len(q), self.kv_heads, group, self.hd),
            arrays[self.keys].reshape(-1, self.kv_heads, self.hd),
            arrays[self.values].reshape(-1, self.kv_heads, self.vd),
            None if self.sinks is None else arrays[self.sinks].reshape(self.kv_heads, group).astype(np.float64),
            AttentionShape(int(arrays[self.pos][0, 0]), self.scale, self.window, self.cap),
        )
        arrays[self.out] = out.reshape(len(q), -1)
