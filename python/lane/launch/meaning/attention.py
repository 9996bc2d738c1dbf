"""Rotation, and attention over a cached span."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from lane.launch.meaning.elementwise import UnaryOp, activate
from lane.launch.record import F64


class RopeLayout(enum.Enum):
    """Which values of a head rotate together: (i, i + half) or (2i, 2i + 1)."""

    SPLIT = "split"
    INTERLEAVED = "interleaved"


def rotate(x: F64, cos: F64, sin: F64, layout: RopeLayout) -> F64:
    """Heads x (rows × heads × hd) turned by their row's angles (cos, sin: rows × half); the rest copied.

    (a, b) ← (a·cos − b·sin, a·sin + b·cos).
    """
    half = cos.shape[1]
    if layout is RopeLayout.SPLIT:
        first, second = slice(0, half), slice(half, 2 * half)
    else:
        first, second = slice(0, 2 * half, 2), slice(1, 2 * half, 2)
    c, s = cos[:, None, :], sin[:, None, :]
    a, b, y = x[..., first], x[..., second], x.copy()
    y[..., first], y[..., second] = a * c - b * s, a * s + b * c
    return y


@dataclass(frozen=True, slots=True)
class AttentionShape:
    """What attention depends on besides its arrays: the first row's position, scale, window, soft cap."""

    start: int
    scale: float
    window: int
    cap: float


@dataclass(frozen=True, slots=True)
class SplitPart:
    """The second part of split queries and keys: rows × groups × group × rest, and len × rest, one for all heads."""

    q: F64
    keys: F64


def attend(
    q: F64, keys: F64, values: F64, sinks: F64 | None, shape: AttentionShape, split: SplitPart | None = None
) -> F64:
    """Per row r and head h: s_p = scale · (q·k_p + q'·k'_p), soft-capped by c·tanh(s/c) when `cap` > 0, over positions
    p ≤ start + r with start + r − p < window (0: all), softmax with the head's sink joining the denominator when there
    are sinks; out = Σ softmax(s)_p · v_p.

    q rows × groups × group × hd, keys len × groups × hd, values len × groups × vd, sinks groups × group.
    """
    out = np.empty((*q.shape[:3], values.shape[2]))
    for r in range(len(q)):
        end = shape.start + r + 1
        first = max(0, end - shape.window) if shape.window else 0
        s = np.einsum("hgd,phd->hgp", q[r], keys[first:end])
        if split is not None:
            s = s + np.einsum("hgd,pd->hgp", split.q[r], split.keys[first:end])
        s = shape.scale * s
        if shape.cap > 0:
            s = activate(UnaryOp.SOFT_CAP, s, shape.cap)
        out[r] = np.einsum("hgp,phd->hgd", _softmax(s, sinks), values[first:end])
    return out


def _softmax(s: F64, sinks: F64 | None) -> F64:
    top = s.max(axis=-1, keepdims=True)
    if sinks is not None:
        top = np.maximum(top, sinks[..., None])
    e = np.exp(s - top)
    total = e.sum(axis=-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(sinks[..., None] - top)
    return np.asarray(e / total)
