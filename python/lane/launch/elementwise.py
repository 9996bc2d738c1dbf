"""Elementwise launches: binary, scale, unary, swiglu."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lane.launch.fields import QuantStore, Read, WriteQuant
from lane.launch.meaning.elementwise import BinaryOp, UnaryOp, activate, combine, gated
from lane.launch.record import Launch, Memory, read_values, store_values

ACTIVATION_OPERATIONS = 8  # that an activation is taken to be worth


@dataclass(frozen=True)
class Binary(Launch):
    """out = a op b; with `row`, b is one row of `cols` values broadcast over a's rows; `gate` is an activation of b."""

    kind: ClassVar[str] = "binary"

    op: BinaryOp
    a: Read
    b: Read
    out: WriteQuant
    n: int
    cols: int
    row: bool = False
    gate: UnaryOp | None = None
    store_quant: QuantStore | None = None

    def compute(self, memory: Memory) -> None:
        a = read_values(memory, self.a, self.n).reshape(-1, self.cols)
        b = read_values(memory, self.b, self.cols if self.row else self.n).reshape(-1, self.cols)
        if self.gate is not None:
            b = activate(self.gate, b)
        store_values(memory, self.out, combine(self.op, a, b), self.store_quant)

    def operations(self, position: int | None = None) -> int:
        return self.n * (1 if self.gate is None else 1 + ACTIVATION_OPERATIONS)


@dataclass(frozen=True)
class Scale(Launch):
    """y = c·x."""

    kind: ClassVar[str] = "scale"

    x: Read
    y: WriteQuant
    n: int
    c: float
    store_quant: QuantStore | None = None

    def compute(self, memory: Memory) -> None:
        store_values(memory, self.y, read_values(memory, self.x, self.n) * self.c, self.store_quant)

    def operations(self, position: int | None = None) -> int:
        return self.n


@dataclass(frozen=True)
class Unary(Launch):
    """y = op(x)."""

    kind: ClassVar[str] = "unary"

    op: UnaryOp
    x: Read
    y: WriteQuant
    n: int
    c: float = 0.0
    store_quant: QuantStore | None = None

    def compute(self, memory: Memory) -> None:
        store_values(memory, self.y, activate(self.op, read_values(memory, self.x, self.n), self.c), self.store_quant)

    def operations(self, position: int | None = None) -> int:
        return ACTIVATION_OPERATIONS * self.n


@dataclass(frozen=True)
class SwiGlu(Launch):
    """y = silu(gate)·up."""

    kind: ClassVar[str] = "swiglu"

    gate: Read
    up: Read
    y: WriteQuant
    n: int
    store_quant: QuantStore | None = None

    def compute(self, memory: Memory) -> None:
        gate, up = read_values(memory, self.gate, self.n), read_values(memory, self.up, self.n)
        store_values(memory, self.y, gated(UnaryOp.SILU, gate, up), self.store_quant)

    def operations(self, position: int | None = None) -> int:
        return (1 + ACTIVATION_OPERATIONS) * self.n
