"""Ops that move values: gather, row view, row write, slice, join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lane.graph.ops.base import Arrays, Op, Reads, Shape, Tensors, Updates, Writes
from lane.launch.table import Elem


@dataclass(frozen=True)
class Gather(Op):
    """out[r] = scale · table[index[r]] for the first `rows` indices."""

    kind: ClassVar[str] = "gather"

    table: Reads
    index: Reads
    out: Writes
    rows: int
    scale: float = 1.0

    def infer(self, tensors: Tensors) -> Shape:
        index = tensors[self.index]
        self.need(index.elem is Elem.I32, f"index '{index.name}' is {index.elem.value}, allowed i32")
        self.need(1 <= self.rows <= index.elems, f"rows {self.rows}, allowed 1 to {index.elems}")
        return self.rows, tensors[self.table].cols

    def compute(self, arrays: Arrays) -> None:
        rows = arrays[self.index].reshape(-1)[: self.rows].astype(np.int64)
        arrays[self.out] = arrays[self.table][rows].astype(np.float64) * self.scale


@dataclass(frozen=True)
class ReadRow(Op):
    """out = row `row` of x, read in place."""

    kind: ClassVar[str] = "read_row"

    x: Reads
    out: Writes
    row: int

    def infer(self, tensors: Tensors) -> Shape:
        x = tensors[self.x]
        self.need(0 <= self.row < x.rows, f"row {self.row}, allowed 0 to {x.rows - 1}")
        return 1, x.cols

    def compute(self, arrays: Arrays) -> None:
        arrays[self.out] = arrays[self.x][self.row : self.row + 1]


@dataclass(frozen=True)
class WriteRows(Op):
    """table[pos + r] = src[r]; without `pos` from the fixed row `row`."""

    kind: ClassVar[str] = "write_rows"

    table: Updates
    src: Reads
    pos: Reads | None
    row: int = 0

    def infer(self, tensors: Tensors) -> None:
        table, src = tensors[self.table], tensors[self.src]
        self.need(table.cols == src.cols, f"source is {src.cols} wide, allowed {table.cols}")
        self.need(
            self.row >= 0 and self.row + src.rows <= table.rows,
            f"{src.rows} rows from row {self.row}, allowed rows 0 to {table.rows - 1}",
        )

    def compute(self, arrays: Arrays) -> None:
        src = arrays[self.src]
        start = self.row if self.pos is None else int(arrays[self.pos][0, 0])
        arrays[self.table][start : start + len(src)] = src


@dataclass(frozen=True)
class Slice(Op):
    """`width` values from offset `start` of every group of `every` values of a row, packed."""

    kind: ClassVar[str] = "slice"

    x: Reads
    out: Writes
    every: int
    start: int
    width: int

    def infer(self, tensors: Tensors) -> Shape:
        x = tensors[self.x]
        self.need(
            self.every > 0 and x.cols % self.every == 0, f"group width {self.every}, allowed a divisor of {x.cols}"
        )
        self.need(
            self.start >= 0 and self.width >= 1 and self.start + self.width <= self.every,
            f"values {self.start} to {self.start + self.width} of a group, allowed 0 to {self.every}",
        )
        return x.rows, x.cols // self.every * self.width

    def compute(self, arrays: Arrays) -> None:
        x = arrays[self.x]
        groups = x.reshape(len(x), -1, self.every)[:, :, self.start : self.start + self.width]
        arrays[self.out] = groups.reshape(len(x), -1)


@dataclass(frozen=True)
class Join(Op):
    """Per unit, `ha` values of a and then `hb` of b."""

    kind: ClassVar[str] = "join"

    a: Reads
    b: Reads
    out: Writes
    ha: int
    hb: int

    def infer(self, tensors: Tensors) -> Shape:
        a, b = tensors[self.a], tensors[self.b]
        self.need(a.rows == b.rows, f"b has {b.rows} rows, allowed {a.rows}")
        self.need(self.ha > 0 and self.hb > 0, f"units of {self.ha} and {self.hb} values, allowed 1 or more")
        self.need(
            a.cols % self.ha == 0 and b.cols % self.hb == 0 and a.cols // self.ha == b.cols // self.hb,
            f"units of {self.ha} in {a.cols} and of {self.hb} in {b.cols}, allowed as many of one as of the other",
        )
        return a.rows, a.cols + b.cols

    def compute(self, arrays: Arrays) -> None:
        a, b = arrays[self.a], arrays[self.b]
        units = [a.reshape(len(a), -1, self.ha), b.reshape(len(b), -1, self.hb)]
        arrays[self.out] = np.concatenate(units, axis=2).reshape(len(a), -1)
