"""Rotation tables: the angles of RoPE under the scalings that checkpoints declare.

Pair i of a head with d rotated values turns by pos · base^(−2i/d), changed by a scaling:
linear      the angle divided by the factor;
factors     each pair's angle divided by its own factor (Llama 3, longrope);
yarn        between the linear and the plain angle by a ramp over pairs, cos and sin scaled by 1 + 0.1·ln(factor)
            (arXiv:2309.00071; the ramp's ends are rounded outwards, as llama.cpp always does).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lane.launch.record import F32, F64
from lane.models.hparams import Hparams

BETA_FAST = 32.0  # rotations over the original context at which a pair is no longer interpolated
BETA_SLOW = 1.0  # and at which it is interpolated in full


@dataclass(frozen=True, slots=True)
class Yarn:
    """YaRN's parameters beside the linear factor."""

    original_context: int
    beta_fast: float = BETA_FAST
    beta_slow: float = BETA_SLOW
    attention_factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Rotation:
    """One set of angles: `dims` rotated values of a head, their base, the linear factor and YaRN's part."""

    dims: int
    base: float
    factor: float = 1.0
    yarn: Yarn | None = None

    def tables(self, positions: int, factors: F32 | None = None) -> tuple[F32, F32]:
        """Cos and sin, each positions × dims/2 in f32; `factors` divide each pair's angle."""
        inverse = self._frequencies()
        if factors is not None:
            inverse = inverse / factors.astype(np.float64)
        angles = np.arange(positions, dtype=np.float64)[:, None] * inverse[None, :]
        scale = self._magnitude()
        return (np.cos(angles) * scale).astype(np.float32), (np.sin(angles) * scale).astype(np.float32)

    def _frequencies(self) -> F64:
        plain = self.base ** (-np.arange(0, self.dims, 2, dtype=np.float64) / self.dims)
        linear = plain / self.factor
        if self.yarn is None:
            return np.asarray(linear)
        low, high = self._ramp_ends(self.yarn)
        ramp = np.clip((np.arange(self.dims // 2) - low) / max(0.001, high - low), 0.0, 1.0)
        return np.asarray(linear * ramp + plain * (1.0 - ramp))

    def _ramp_ends(self, yarn: Yarn) -> tuple[float, float]:
        def pair(rotations: float) -> float:
            turns = yarn.original_context / (rotations * 2.0 * math.pi)
            return self.dims * math.log(turns) / (2.0 * math.log(self.base))

        return max(0.0, math.floor(pair(yarn.beta_fast))), min(self.dims - 1.0, math.ceil(pair(yarn.beta_slow)))

    def _magnitude(self) -> float:
        if self.yarn is None:
            return 1.0
        return self.yarn.attention_factor * (1.0 + 0.1 * math.log(self.factor))


def read_rotation(hparams: Hparams, dims: int, context: int, base_default: float = 10000.0) -> Rotation:
    """The rotation that an architecture's `rope.*` keys declare."""
    base = hparams.number("rope.freq_base", base_default, low=1.0 + 1e-6, high=1e12)
    hparams.ignore("rope.scaling.finetuned")
    kind = hparams.text("rope.scaling.type", "none")
    if kind not in ("none", "linear", "yarn"):
        hparams.require(False, f"rope.scaling.type is '{kind}', allowed none, linear, yarn")
    old = hparams.number("rope.scale_linear", 1.0, low=1e-3, high=1e6)
    factor = hparams.number("rope.scaling.factor", old, low=1e-3, high=1e6)
    original = hparams.count("rope.scaling.original_context_length", context)
    attention_factor = hparams.number("rope.scaling.attn_factor", 1.0, low=1e-3, high=1e3)
    if kind != "yarn":
        return Rotation(dims, base, factor if kind == "linear" or old != 1.0 else 1.0)
    fast = hparams.number("rope.scaling.yarn_beta_fast", BETA_FAST, low=1e-3, high=1e6)
    slow = hparams.number("rope.scaling.yarn_beta_slow", BETA_SLOW, low=1e-3, high=1e6)
    return Rotation(dims, base, factor, Yarn(original, fast, slow, attention_factor))
