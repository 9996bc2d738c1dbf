"""Elementwise launches: binary, scale, unary, swiglu."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lane.launch.fields import QuantStore, Read, WriteQuant
from lane.launch.record import F64, Launch, Memory, read_values, store_values

ACTIVATION_OPERATIONS = 8  # that an activation is taken to be worth


class BinaryOp(enum.Enum):
    """The two operations of a binary launch."""

    ADD = "add"
    MUL = "mul"


class UnaryOp(enum.Enum):
    """Activations. `SOFT_CAP` is c·tanh(x/c); `GELU` the tanh form."""

    SILU = "silu"
    SIGMOID = "sigmoid"
    GELU = "gelu"
    SOFTPLUS = "softplus"
    TANH = "tanh"
    SOFT_CAP = "soft_cap"


def _sigmoid(x: F64) -> F64:
    # exp of a non-positive number only: no overflow for either sign
    e = np.exp(-np.abs(x))
    result: F64 = np.where(x >= 0, 1.0, e) / (1.0 + e)
    return result


def _gelu(x: F64) -> F64:
    result: F64 = 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))
    return result


_ACTIVATIONS: Mapping[UnaryOp, Callable[[F64, float], F64]] = {
    UnaryOp.SILU: lambda x, c: x * _sigmoid(x),
    UnaryOp.SIGMOID: lambda x, c: _sigmoid(x),
    UnaryOp.GELU: lambda x, c: _gelu(x),
    UnaryOp.SOFTPLUS: lambda x, c: np.logaddexp(0.0, x),
    UnaryOp.TANH: lambda x, c: np.tanh(x),
    UnaryOp.SOFT_CAP: lambda x, c: c * np.tanh(x / c),
}


def activate(op: UnaryOp, x: F64, c: float = 0.0) -> F64:
    """An activation's float64 meaning; `c` is the cap of SOFT_CAP and otherwise unused."""
    return _ACTIVATIONS[op](x, c)


@dataclass(frozen=True)
class Binary(Launch):
    """out = a op b; with `row`, b is one row of `cols` values broadcast over a's rows; with `gate`, b goes through it."""

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
        store_values(memory, self.out, a + b if self.op is BinaryOp.ADD else a * b, self.store_quant)

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
        store_values(memory, self.y, activate(UnaryOp.SILU, gate) * up, self.store_quant)

    def operations(self, position: int | None = None) -> int:
        return (1 + ACTIVATION_OPERATIONS) * self.n
