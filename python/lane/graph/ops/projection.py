"""Matrix products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lane.graph.ops.base import Arrays, Op, Reads, Shape, Tensors, Writes, f64
from lane.graph.tensor import Rows, Values
from lane.launch.meaning.product import head_product, product


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
        bias = None if self.bias is None else arrays[self.bias]
        arrays[self.out] = product(arrays[self.x], f64(arrays[self.w]), bias)


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
        bias = None if self.bias is None else arrays[self.bias]
        arrays[self.out] = product(arrays[self.x], f64(arrays[self.w]).T, bias)


@dataclass(frozen=True)
class HeadMatMul(Op):
    """Per head h: out[:, h] = x[:, h]·w[h]ᵀ, from `a` values to `b`; with `shared` every head reads the one unit x.

    w is `heads` stacked matrices of b rows × a cols (its rows are the heads' outputs), or with `rows_in` of a rows × b
    cols (they are the inputs).
    """

    kind: ClassVar[str] = "head_matmul"

    x: Reads
    w: Reads
    out: Writes
    heads: int
    a: int
    b: int
    rows_in: bool = False
    shared: bool = False

    def infer(self, tensors: Tensors) -> Shape:
        x, w = tensors[self.x], tensors[self.w]
        units = 1 if self.shared else self.heads
        self.need(x.cols == units * self.a, f"x is {x.cols} wide, allowed {units}·{self.a}")
        rows, cols = (self.a, self.b) if self.rows_in else (self.b, self.a)
        self.need(
            (w.rows, w.cols) == (self.heads * rows, cols),
            f"'{w.name}' is {w.rows}x{w.cols}, allowed {self.heads * rows}x{cols}",
        )
        return x.rows, self.heads * self.b

    def compute(self, arrays: Arrays) -> None:
        x = arrays[self.x]
        w = f64(arrays[self.w]).reshape(self.heads, -1, arrays[self.w].shape[1])
        y = head_product(x.reshape(len(x), -1, self.a), w.transpose(0, 2, 1) if self.rows_in else w)
        arrays[self.out] = y.reshape(len(x), -1)
