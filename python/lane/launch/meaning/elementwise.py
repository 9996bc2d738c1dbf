"""Elementwise operations: arithmetic, activations, gated units."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping

import numpy as np

from lane.launch.record import F64


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


def combine(op: BinaryOp, a: F64, b: F64) -> F64:
    """a op b; b may be one row broadcast over a's."""
    return a + b if op is BinaryOp.ADD else a * b


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
    """An activation; `c` is the cap of SOFT_CAP and otherwise unused."""
    return _ACTIVATIONS[op](x, c)


def gated(act: UnaryOp, gate: F64, up: F64) -> F64:
    """act(gate)·up; with SiLU: SwiGLU."""
    return activate(act, gate) * up


def clamped_swiglu(gate: F64, up: F64, limit: float, slope: float) -> F64:
    """With g = min(gate, limit), u = clamp(up, ±limit): g·sigmoid(slope·g)·(u + 1)."""
    g = np.minimum(gate, limit)
    u = np.clip(up, -limit, limit)
    return np.asarray(g * activate(UnaryOp.SIGMOID, slope * g) * (u + 1.0))
