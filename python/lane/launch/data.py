"""Launches that move values: gather, view, set_row, slice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lane.launch.record import Launch, Matrix, Memory, Read, Touch, Write


@dataclass(frozen=True)
class Gather(Launch):
    """out[r] = scale · table[index[r]] for `rows` rows of `cols` values, dequantised."""

    kind: ClassVar[str] = "gather"

    table: Matrix
    index: Read
    out: Write
    rows: int
    cols: int
    scale: float = 1.0

    def compute(self, memory: Memory) -> None:
        rows = memory.matrix(self.table)[memory.plain(self.index)[: self.rows]]
        memory.plain(self.out)[: rows.size] = (rows * self.scale).reshape(-1)

    def operations(self) -> int:
        return self.rows * self.cols


@dataclass(frozen=True)
class View(Launch):
    """Nothing: `out` is `src` from element `offset` on."""

    kind: ClassVar[str] = "view"

    src: Read
    out: Write
    offset: int
    n: int

    def compute(self, memory: Memory) -> None:
        memory.plain(self.out)[: self.n] = memory.plain(self.src)[self.offset : self.offset + self.n]

    def operations(self) -> int:
        return 0


@dataclass(frozen=True)
class SetRow(Launch):
    """table[index + r] = src[r] for `count` rows of `cols` values."""

    kind: ClassVar[str] = "set_row"

    table: Touch
    index: Read
    src: Read
    cols: int
    count: int

    def compute(self, memory: Memory) -> None:
        start = int(memory.plain(self.index)[0]) * self.cols
        n = self.count * self.cols
        memory.plain(self.table)[start : start + n] = memory.plain(self.src)[:n]

    def operations(self) -> int:
        return 0


@dataclass(frozen=True)
class Slice(Launch):
    """From each of `groups` groups `every` elements apart, `width` values from offset `start` on, packed."""

    kind: ClassVar[str] = "slice"

    x: Read
    y: Write
    groups: int
    every: int
    start: int
    width: int

    def compute(self, memory: Memory) -> None:
        x = memory.plain(self.x)[: self.groups * self.every].reshape(self.groups, self.every)
        memory.plain(self.y)[: self.groups * self.width] = x[:, self.start : self.start + self.width].reshape(-1)

    def operations(self) -> int:
        return 0
