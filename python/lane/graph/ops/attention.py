"""Rotation and attention over carried caches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lane.graph.ops.base import Arrays, Op, Reads, Shape, Tensors, Writes, f64
from lane.launch.meaning.attention import AttentionShape, RopeLayout, SplitPart, attend, rotate
from lane.launch.meaning.elementwise import UnaryOp, activate


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
        cos, sin = f64(arrays[self.cos][rows]), f64(arrays[self.sin][rows])
        arrays[self.out] = rotate(x.reshape(len(x), -1, self.hd), cos, sin, self.layout).reshape(x.shape)


@dataclass(frozen=True)
class Attention(Op):
    """Attention of the block's rows over the cached rows at or before each; see `lane.launch.meaning.attention.attend`.

    `kv_heads` heads in the caches, each of `hd` key and `vd` value values; the query heads group evenly over them.
    With `value_start` the values lie inside the key rows: a head's are the `vd` from there on in its key (`keys` and
    `values` are then one table). Split queries and keys have a second part of `rest` values: `q_rest` per head, and
    `keys_rest`, which all heads share, from value `rest_start` of its rows on. `gate` multiplies the output by its
    sigmoid.
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
    value_start: int | None = None
    q_rest: Reads | None = None
    keys_rest: Reads | None = None
    rest: int | None = None
    rest_start: int | None = None
    gate: Reads | None = None

    def infer(self, tensors: Tensors) -> Shape:
        q = tensors[self.q]
        self.need(
            self.kv_heads > 0 and self.heads % self.kv_heads == 0,
            f"{self.heads} heads, allowed a multiple of {self.kv_heads}",
        )
        self.need(q.cols == self.heads * self.hd, f"queries are {q.cols} wide, allowed {self.heads}·{self.hd}")
        self.need(self.window >= 0 and self.cap >= 0, f"window {self.window} and cap {self.cap}, allowed 0 or more")
        self._check_caches(tensors)
        self._check_split(tensors)
        if self.sinks is not None:
            sinks = tensors[self.sinks].elems
            self.need(sinks == self.heads, f"{sinks} sinks, allowed {self.heads}")
        if self.gate is not None:
            gate = tensors[self.gate]
            self.need(
                (gate.rows, gate.cols) == (q.rows, self.heads * self.vd),
                f"gate of {gate.rows}x{gate.cols}, allowed {q.rows}x{self.heads * self.vd}",
            )
        return q.rows, self.heads * self.vd

    def _check_caches(self, tensors: Tensors) -> None:
        k, v = tensors[self.keys], tensors[self.values]
        self.need(k.cols == self.kv_heads * self.hd, f"keys are {k.cols} wide, allowed {self.kv_heads}·{self.hd}")
        if self.value_start is None:
            self.need(v.cols == self.kv_heads * self.vd, f"values are {v.cols} wide, allowed {self.kv_heads}·{self.vd}")
            self.need(k.rows == v.rows, f"{v.rows} value rows, allowed {k.rows}")
            return
        self.need(self.values == self.keys, f"values inside the keys, but of '{self.values}', allowed '{self.keys}'")
        end = self.value_start + self.vd
        self.need(
            self.value_start >= 0 and end <= self.hd,
            f"values {self.value_start} to {end} of a key, allowed 0 to {self.hd}",
        )

    def _check_split(self, tensors: Tensors) -> None:
        parts = (self.q_rest, self.keys_rest, self.rest)
        self.need(
            all(p is None for p in parts) or all(p is not None for p in parts),
            "one half of a split, allowed q_rest, keys_rest and rest, or none of them",
        )
        if self.q_rest is None or self.keys_rest is None or self.rest is None:
            return
        q, k = tensors[self.q_rest], tensors[self.keys_rest]
        self.need(
            (q.rows, q.cols) == (tensors[self.q].rows, self.heads * self.rest),
            f"'{q.name}' is {q.rows}x{q.cols}, allowed {tensors[self.q].rows}x{self.heads * self.rest}",
        )
        self.need(k.rows == tensors[self.keys].rows, f"'{k.name}' has {k.rows} rows, allowed those of the keys")
        start = self.rest_start or 0
        self.need(
            start >= 0 and start + self.rest <= k.cols,
            f"values {start} to {start + self.rest} of '{k.name}', allowed 0 to {k.cols}",
        )

    def compute(self, arrays: Arrays) -> None:
        q = arrays[self.q]
        group = self.heads // self.kv_heads
        keys = arrays[self.keys].reshape(-1, self.kv_heads, self.hd)
        if self.value_start is None:
            values = arrays[self.values].reshape(-1, self.kv_heads, self.vd)
        else:
            values = keys[:, :, self.value_start : self.value_start + self.vd]
        out = attend(
            q.reshape(len(q), self.kv_heads, group, self.hd),
            keys,
            values,
            None if self.sinks is None else f64(arrays[self.sinks].reshape(self.kv_heads, group)),
            AttentionShape(int(arrays[self.pos][0, 0]), self.scale, self.window, self.cap),
            self._split(arrays),
        )
        attended = out.reshape(len(q), -1)
        if self.gate is not None:
            attended = attended * activate(UnaryOp.SIGMOID, arrays[self.gate])
        arrays[self.out] = attended

    def _split(self, arrays: Arrays) -> SplitPart | None:
        if self.q_rest is None or self.keys_rest is None or self.rest is None:
            return None
        start = self.rest_start or 0
        q = arrays[self.q_rest]
        return SplitPart(
            q.reshape(len(q), self.kv_heads, -1, self.rest), arrays[self.keys_rest][:, start : start + self.rest]
        )
