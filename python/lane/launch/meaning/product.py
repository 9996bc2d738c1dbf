"""Matrix products."""

from __future__ import annotations

import numpy as np

from lane.launch.record import F64


def product(x: F64, w: F64, bias: F64 | None = None) -> F64:
    """x·wᵀ + bias: x rows × k, w n × k (one output a row)."""
    y = x @ w.T
    return y if bias is None else y + bias


def head_product(x: F64, w: F64) -> F64:
    """Per head h: x[:, h]·w[h]ᵀ; x rows × heads × a (or × 1 × a: one unit that every head reads), w heads × b × a."""
    return np.asarray(np.einsum("rha,hba->rhb", np.broadcast_to(x, (len(x), len(w), x.shape[2])), w))
