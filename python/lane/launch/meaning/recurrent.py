"""Gated DeltaNet (arXiv:2412.06464): convolution over a ring of rows, gates, the delta rule over a memory."""

from __future__ import annotations

import numpy as np

from lane.launch.record import F64


def convolve(x: F64, w: F64, ring: F64, start: int) -> F64:
    """Causal depthwise convolution of rows x at positions start + r: y = Σ_t w_t · x_{pos − taps + 1 + t}.

    x rows × channels, w channels × taps, ring taps × channels: position p lies in its row p mod taps; it is updated in
    place. What lies before position 0 is 0, whatever the ring holds.
    """
    taps = len(ring)
    before = np.arange(start - taps + 1, start)
    past = np.where((before >= 0)[:, None], ring[before % taps], 0.0)
    rows = np.concatenate([past, x])
    y = np.zeros_like(x)
    for t in range(taps):
        y += w[:, t] * rows[t : t + len(x)]
    kept = min(taps, len(x))
    ring[np.arange(start + len(x) - kept, start + len(x)) % taps] = x[len(x) - kept :]
    return y


def decay(a: F64, dt: F64, al: F64) -> F64:
    """The forget gate g = (1 + e^(a + dt))^al = exp(al · softplus(a + dt)); al is the negative log-decay weight."""
    return np.asarray(np.exp(al * np.logaddexp(0.0, a + dt)))


def key_head(value_heads: int, key_heads: int, tiled: bool) -> np.ndarray:
    """The key head of each value head: grouped, v // (value_heads / key_heads), or tiled, v mod key_heads."""
    heads = np.arange(value_heads)
    return heads % key_heads if tiled else heads // (value_heads // key_heads)


def delta_rule(q: F64, k: F64, v: F64, g: F64, beta: F64, memory: F64) -> F64:
    """Per head with memory S (d × d), row by row: S ← g·S; u = β·(v − Sᵀk); S ← S + k·uᵀ; o = Sᵀq.

    q, k, v rows × heads × d, g and beta rows × heads, memory heads × d × d (S[i, j]: key value i, value j), updated in
    place.
    """
    out = np.empty_like(v)
    for r in range(len(v)):
        memory *= g[r][:, None, None]
        u = beta[r][:, None] * (v[r] - np.einsum("hij,hi->hj", memory, k[r]))
        memory += k[r][:, :, None] * u[:, None, :]
        out[r] = np.einsum("hij,hi->hj", memory, q[r])
    return out
