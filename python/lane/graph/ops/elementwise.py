"""Elementwise ops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lane.graph.ops.base import Arrays, Op, Reads, Shape, Tensors, Writes
from lane.launch.meaning.elementwise import BinaryOp, UnaryOp, activate, clamped_swiglu, combine, gated


def _same_shape(op: Op, tensors: Tensors, a: str, b: str) -> Shape:
    x, y = tensors[a], tensors[b]
    op.need((x.rows, x.cols) == (y.rows, y.cols), f"'{b}' is {y.rows}x{y.cols}, allowed {x.rows}x{x.cols}")
    return x.rows, x.cols


@dataclass(frozen=True)
class Binary(Op):
    """out = a op b, b being whole or one row broadcast over a's."""

    kind: ClassVar[str] = "binary"

    op: BinaryOp
    a: Reads
    b: Reads
    out: Writes

    def infer(self, tensors: Tensors) -> Shape:
        a, b = tensors[self.a], tensors[self.b]
        if b.rows == 1 and b.cols == a.cols:
            return a.rows, a.cols
        return _same_shape(self, tensors, self.a, self.b)

    def compute(self, arrays: Arrays) -> None:
        arrays[self.out] = combine(self.op, arrays[self.a], arrays[self.b])


@dataclass(frozen=True)
class Scale(Op):
    """out = c·x."""

    kind: ClassVar[str] = "scale"

    x: Reads
    out: Writes
    c: float

    def infer(self, tensors: Tensors) -> Shape:
        self.need(bool(np.isfinite(self.c)), f"factor {self.c}, allowed a finite number")
        return tensors[self.x].rows, tensors[self.x].cols

    def compute(self, arrays: Arrays) -> None:
        arrays[self.out] = arrays[self.x] * self.c


@dataclass(frozen=True)
class Unary(Op):
    """out = op(x); `c` is the cap of a soft cap."""

    kind: ClassVar[str] = "unary"

    op: UnaryOp
    x: Reads
    out: Writes
    c: float = 0.0

    def infer(self, tensors: Tensors) -> Shape:
        self.need(self.op is not UnaryOp.SOFT_CAP or self.c > 0, f"soft cap {self.c}, allowed above 0")
        return tensors[self.x].rows, tensors[self.x].cols

    def compute(self, arrays: Arrays) -> None:
        arrays[self.out] = activate(self.op, arrays[self.x], self.c)


@dataclass(frozen=True)
class SwiGlu(Op):
    """out = silu(gate)·up."""

    kind: ClassVar[str] = "swiglu"

    gate: Reads
    up: Reads
    out: Writes

    def infer(self, tensors: Tensors) -> Shape:
        return _same_shape(self, tensors, self.gate, self.up)

    def compute(self, arrays: Arrays) -> None:
        arrays[self.out] = gated(UnaryOp.SILU, arrays[self.gate], arrays[self.up])


@dataclass(frozen=True)
class ClampedSwiGlu(Op):
    """With g = min(gate, limit), u = clamp(up, ±limit): out = g·sigmoid(slope·g)·(u + 1)."""

    kind: ClassVar[str] = "clamped_swiglu"

    gate: Reads
    up: Reads
    out: Writes
    limit: float
    slope: float

    def infer(self, tensors: Tensors) -> Shape:
        self.need(self.limit > 0, f"limit {self.limit}, allowed above 0")
        return _same_shape(self, tensors, self.gate, self.up)

    def compute(self, arrays: Arrays) -> None:
        arrays[self.out] = clamped_swiglu(arrays[self.gate], arrays[self.up], self.limit, self.slope)
