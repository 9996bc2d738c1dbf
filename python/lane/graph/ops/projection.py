"""Matrix products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lane.graph.ops.base import Arrays, Op, Reads, Shape, Tensors, Writes
from lane.graph.tensor import Rows, Values


@dataclass(frozen=True)
class MatMul(Op):
    """out = x·wᵀ (+ bias), w being checkpoint rows (one output a row)."""

    kind: ClassVar[str] = "matmul"

    x: Reads
    w: Reads
    out: Writes
    bias: Reads | None = None

    def infer(self, tensors: Tensors) -> Shape:
        x, w = tensors[self.x], tensors[self.w]
        self.need(isinstance(w.placement, Rows), f"'{w.name}' has no checkpoint rows")
        self.need(x.cols == w.cols, f"x is {x.cols} wide, allowed {w.cols} (the rows of '{w.name}')")
        if self.bias is not None:
            bias = tensors[self.bias]
            self.need(bias.elems == w.rows, f"bias of {bias.elems} values, allowed {w.rows}")
        return x.rows, w.rows

    def compute(self, arrays: Arrays) -> None:
        y = arrays[self.x] @ arrays[self.w].astype(np.float64).T
        arrays[self.out] = y if self.bias is None else y + arrays[self.bias]


@dataclass(frozen=True)
class MatMulValues(Op):
    """out = x·w (+ bias), w being f32 values stored transposed (k × n)."""

    kind: ClassVar[str] = "matmul_values"

    x: Reads
    w: Reads
    out: Writes
    bias: Reads | None = None

    def infer(self, tensors: Tensors) -> Shape:
        x, w = tensors[self.x], tensors[self.w]
        self.need(isinstance(w.placement, Values), f"'{w.name}' has no values")
        self.need(x.cols == w.rows, f"x is {x.cols} wide, allowed {w.rows} (the rows of '{w.name}')")
        if self.bias is not None:
            bias = tensors[self.bias]
            self.need(bias.elems == w.cols, f"bias of {bias.elems} values, allowed {w.cols}")
        return x.rows, w.cols

    def compute(self, arrays: Arrays) -> None:
        y = arrays[self.x] @ arrays[self.w].astype(np.float64)
        arrays[self.out] = y if self.bias is None else y + arrays[self.bias]


@dataclass(frozen=True)
class HeadMatMul(Op):
    """Per head h: out[:, h] = x[:, h]·w[h]ᵀ, w being `heads` stacked matrices of b rows × a cols."""

    kind: ClassVar[str] = "head_matmul"

    x: Reads
    w: Reads
    out: Writes
    heads: int
    a: int
    b: int

    def infer(self, tensors: Tensors) -> Shape:
        x, w = tensors[self.x], tensors[self.w]
        self.need(x.cols == self.heads * self.a, f"x is {x.cols} wide, allowed {self.heads}·{self.a}")
        self.need(
            w.elems == self.heads * self.a * self.b,
            f"'{w.name}' holds {w.elems} values, allowed {self.heads}·{self.a}·{self.b}",
        )
        return x.rows, self.heads * self.b

    def compute(self, arrays: Arrays) -> None:
        x = arrays[self.x].reshape(-1, self.heads, self.a)
        w = arrays[self.w].astype(np.float64).reshape(self.heads, self.b, self.a)
        arrays[self.out] = np.einsum("rha,hba->rhb", x, w).reshape(len(x), -1)
