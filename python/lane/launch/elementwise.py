"""Elementwise launches: binary, scale, unary, swiglu."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lane.launch.record import F64, Launch, Memory, Read, Write


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
        result = a + b if self.op is BinaryOp.ADD else a * b
        memory.plain(self.out)[: self.n] = result.reshape(-1)

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
        memory.plain(self.y)[: self.n] = activate(UnaryOp.SILU, gate) * up

    def operations(self) -> int:
        return 9 * self.n
