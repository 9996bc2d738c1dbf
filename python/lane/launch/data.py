"""Launches that move values: gather, view, set_row, slice, join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lane.launch.fields import (
    Extent,
    Matrix,
    QuantStore,
    Read,
    ReadAny,
    ReadHalf,
    ReadIndex,
    Region,
    RowsAt,
    Units,
    Write,
    WriteAny,
    WriteRows,
)
from lane.launch.record import Launch, Memory, Record, WriteTo, read_units, read_values, store_units


@dataclass(frozen=True)
class Gather(Launch):
    """out[r] = scale · table[index[r]] for `rows` rows of `cols` values, dequantised."""

    kind: ClassVar[str] = "gather"

    table: Matrix
    index: ReadIndex
    out: Write
    rows: int
    cols: int
    scale: float = 1.0

    def extent(self, field: str, of: Record) -> Extent | None:
        if field == "table":
            return RowsAt(self.cols, self.rows)
        return Region(0, self.rows) if field == "index" else None

    def compute(self, memory: Memory) -> None:
        rows = memory.matrix(self.table)[memory.plain(self.index)[: self.rows]]
        memory.plain(self.out)[: rows.size] = (rows * self.scale).reshape(-1)

    def operations(self, position: int | None = None) -> int:
        return self.rows * self.cols


@dataclass(frozen=True)
class View(Launch):
    """Nothing: `out` is `src` from element `offset` on."""

    kind: ClassVar[str] = "view"

    src: ReadAny
    out: WriteAny
    offset: int
    n: int

    def extent(self, field: str, of: Record) -> Extent | None:
        return Region(self.offset, self.n) if field == "src" else None

    def compute(self, memory: Memory) -> None:
        memory.plain(self.out)[: self.n] = memory.plain(self.src)[self.offset : self.offset + self.n]

    def operations(self, position: int | None = None) -> int:
        return 0


@dataclass(frozen=True)
class SetRow(Launch):
    """table[index + r] = src[r] for `count` rows of `cols` values; without an index, from the fixed `row` on.

    Over a batch's sequences (`seq`) row r goes to row index[r] of the table `seq` · r elements on. `store_quant`: the
    rows also, or only, land quantised; their first value then begins a block.
    """

    kind: ClassVar[str] = "set_row"

    table: WriteRows
    index: ReadIndex | None
    src: Read
    cols: int
    count: int
    row: int | None = None
    seq: int | None = None
    store_quant: QuantStore | None = None

    def extent(self, field: str, of: Record) -> Extent | None:
        if field == "index":
            return Region(0, 1 if self.seq is None else self.count)
        if field != "table":
            return None
        if self.index is None and self.seq is None:
            return Region((self.row or 0) * self.cols, self.cols * self.count)
        return RowsAt(self.cols, self.count)

    def compute(self, memory: Memory) -> None:
        rows = read_values(memory, self.src, self.count * self.cols).reshape(self.count, self.cols)
        for r in range(self.count):
            sequence = 0 if self.seq is None else r
            first = (self.row or 0) if self.index is None else int(memory.plain(self.index)[sequence])
            start = (first + r - sequence) * self.cols + sequence * (self.seq or 0)
            if self.store_quant is not QuantStore.ALONE:
                memory.plain(self.table)[start : start + self.cols] = rows[r]
            if self.store_quant is not None:
                memory.quantise(self.table, rows[r].astype(np.float32), start)

    def operations(self, position: int | None = None) -> int:
        return 0


@dataclass(frozen=True)
class Slice(Launch):
    """From each of `groups` groups `every` elements apart, `width` values from offset `start` on, packed."""

    kind: ClassVar[str] = "slice"

    x: ReadHalf
    y: Write
    groups: int
    every: int
    start: int
    width: int

    def extent(self, field: str, of: Record) -> Extent | None:
        return Region(self.start, self.width, self.every, self.groups) if field == "x" else None

    def compute(self, memory: Memory) -> None:
        x = memory.plain(self.x)[: self.groups * self.every].reshape(self.groups, self.every)
        memory.plain(self.y)[: self.groups * self.width] = x[:, self.start : self.start + self.width].reshape(-1)

    def operations(self, position: int | None = None) -> int:
        return 0


@dataclass(frozen=True)
class Join(Launch):
    """Of `rows` rows of `per_row` units each: `ha` values of a, then `hb` of b, unit by unit."""

    kind: ClassVar[str] = "join"

    a: Read
    b: Read
    y: WriteTo
    rows: int
    per_row: int
    ha: int
    hb: int

    def extent(self, field: str, of: Record) -> Extent | None:
        return self.y.extent(Units(self.rows, self.per_row, self.ha + self.hb)) if field == "y" else None

    def compute(self, memory: Memory) -> None:
        a = read_units(memory, self.a, Units(self.rows, self.per_row, self.ha), None)
        b = read_units(memory, self.b, Units(self.rows, self.per_row, self.hb), None)
        store_units(memory, self.y, np.concatenate([a, b], axis=2))

    def operations(self, position: int | None = None) -> int:
        return 0
