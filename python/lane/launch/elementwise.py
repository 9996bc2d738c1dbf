"""Elementwise launches: binary, scale, unary, swiglu."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lane.launch.meaning.elementwise import BinaryOp, UnaryOp, activate, combine, gated
from lane.launch.record import Launch, Memory, Read, Write


@dataclass(frozen=True)
class Binary(Launch):
    """out = a op b; with `row`, b is one row of `cols` values broadcast over a's rows."""

    kind: ClassVar[str] = "binary"

    op: BinaryOp
    a: Read
    b: Read
    out: Write
    n: int
    cols: int
    row: bool = False

    def compute(self, memory: Memory) -> None:
        a = memory.plain(self.a)[: self.n].astype(np.float64).reshape(-1, self.cols)
        b = memory.plain(self.b)[: self.cols if self.row else self.n].astype(np.float64).reshape(-1, self.cols)
        memory.plain(self.out)[: self.n] = combine(self.op, a, b).reshape(-1)

    def operations(self) -> int:
        return self.n


@dataclass(frozen=True)
class Scale(Launch):
    """y = c·x."""

    kind: ClassVar[str] = "scale"

    x: Read
    y: Write
    n: int
    c: float

    def compute(self, memory: Memory) -> None:
        memory.plain(self.y)[: self.n] = memory.plain(self.x)[: self.n].astype(np.float64) * self.c

    def operations(self) -> int:
        return self.n


@dataclass(frozen=True)
class Unary(Launch):
    """y = op(x)."""

    kind: ClassVar[str] = "unary"

    op: UnaryOp
    x: Read
    y: Write
    n: int
    c: float = 0.0

    def compute(self, memory: Memory) -> None:
        x = memory.plain(self.x)[: self.n].astype(np.float64)
        memory.plain(self.y)[: self.n] = activate(self.op, x, self.c)

    def operations(self) -> int:
        return 8 * self.n


@dataclass(frozen=True)
class SwiGlu(Launch):
    """y = silu(gate)·up."""

    kind: ClassVar[str] = "swiglu"

    gate: Read
    up: Read
    y: Write
    n: int

    def compute(self, memory: Memory) -> None:
        gate = memory.plain(self.gate)[: self.n].astype(np.float64)
        up = memory.plain(self.up)[: self.n].astype(np.float64)
        memory.plain(self.y)[: self.n] = gated(UnaryOp.SILU, gate, up)

    def operations(self) -> int:
        return 9 * self.n
