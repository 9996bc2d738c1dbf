"""Norms of rows, or of every unit of `width` values of a row (a head)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lane.graph.ops.base import Arrays, Op, Reads, Shape, Tensors, Writes, vector
from lane.launch.meaning.norm import normed, unit_length


def _infer(op: Op, tensors: Tensors, x: str, width: int, eps: float, weights: tuple[str | None, ...]) -> Shape:
    t = tensors[x]
    op.need(width > 0 and t.cols % width == 0, f"units of {width} values, allowed a divisor of {t.cols}")
    op.need(0 <= eps <= 1, f"epsilon {eps}, allowed 0 to 1")
    for name in weights:
        if name is not None:
            op.need(tensors[name].elems == width, f"'{name}' has {tensors[name].elems} values, allowed {width}")
    return t.rows, t.cols


@dataclass(frozen=True)
class RmsNorm(Op):
    """out = x·rsqrt(mean(x²) + eps)·w over units of `width` values."""

    kind: ClassVar[str] = "rms_norm"

    x: Reads
    w: Reads | None
    out: Writes
    width: int
    eps: float

    def infer(self, tensors: Tensors) -> Shape:
        return _infer(self, tensors, self.x, self.width, self.eps, (self.w,))

    def compute(self, arrays: Arrays) -> None:
        x = arrays[self.x]
        y = normed(x.reshape(-1, self.width), vector(arrays, self.w), None, self.eps)
        arrays[self.out] = y.reshape(x.shape)


@dataclass(frozen=True)
class LayerNorm(Op):
    """out = (x − mean)·rsqrt(variance + eps)·w + bias over units of `width` values."""

    kind: ClassVar[str] = "layer_norm"

    x: Reads
    w: Reads
    bias: Reads | None
    out: Writes
    width: int
    eps: float

    def infer(self, tensors: Tensors) -> Shape:
        return _infer(self, tensors, self.x, self.width, self.eps, (self.w, self.bias))

    def compute(self, arrays: Arrays) -> None:
        x, w, bias = arrays[self.x], vector(arrays, self.w), vector(arrays, self.bias)
        arrays[self.out] = normed(x.reshape(-1, self.width), w, bias, self.eps, centre=True).reshape(x.shape)


@dataclass(frozen=True)
class L2Norm(Op):
    """out = x·rsqrt(Σx² + eps) over units of `width` values."""

    kind: ClassVar[str] = "l2_norm"

    x: Reads
    out: Writes
    width: int
    eps: float

    def infer(self, tensors: Tensors) -> Shape:
        return _infer(self, tensors, self.x, self.width, self.eps, ())

    def compute(self, arrays: Arrays) -> None:
        x = arrays[self.x]
        arrays[self.out] = unit_length(x.reshape(-1, self.width), self.eps).reshape(x.shape)
