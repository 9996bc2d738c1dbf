"""Norms of units: arrays of units × values in, the same out."""

from __future__ import annotations

import numpy as np

from lane.launch.record import F64


def normed(units: F64, w: F64 | None, bias: F64 | None, eps: float, centre: bool = False) -> F64:
    """x·rsqrt(mean(x²) + eps)·w + bias (RMS norm); with `centre` the same of x − mean(x) (LayerNorm)."""
    x = units - units.mean(axis=1, keepdims=True) if centre else units
    y = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + eps)
    if w is not None:
        y = y * w
    return np.asarray(y if bias is None else y + bias)


def unit_length(units: F64, eps: float) -> F64:
    """x·rsqrt(Σx² + eps) (L2 norm)."""
    return np.asarray(units / np.sqrt((units * units).sum(axis=1, keepdims=True) + eps))
