"""Rotation tables: the angles of RoPE under the scalings that checkpoints declare.

Pair i of a head with d rotated values turns by pos · base^(−2i/d), changed by a scaling:
linear      the angle divided by the factor;
factors     each pair's angle divided by its own factor (Llama 3, longrope);
yarn        between the linear and the plain angle by a ramp over pairs, cos and sin scaled by 1 + 0.1·ln(factor)
            (arXiv:2309.00071; the ramp's ends are rounded outwards, as llama.cpp always does). A file's own ends of the
            ramp count, as they do in transformers; llama.cpp reads them in two architectures alone.
A file may scale cos and sin by a factor of its own beside that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lane.launch.record import F32, F64
from lane.models.hparams import Hparams

BASE = 10000.0  # where the file names none
BETA_FAST = 32.0  # rotations over the original context at which a pair is no longer interpolated
BETA_SLOW = 1.0  # and at which it is interpolated in full
KINDS = ("none", "linear", "yarn")
LONGROPE = "longrope"  # the factors are tensors, which a family must know to look for


@dataclass(frozen=True, slots=True)
class Yarn:
    """The ends of YaRN's ramp, in rotations over the original context."""

    beta_fast: float = BETA_FAST
    beta_slow: float = BETA_SLOW


@dataclass(frozen=True, slots=True)
class Rotation:
    """One set of angles.

    `dims` values of a head turn, by angles of `base` divided by the linear `factor`; cos and sin are scaled by
    `magnitude`. `original_context` is the number of positions before any extension (0: not known).
    """

    dims: int
    base: float
    factor: float = 1.0
    yarn: Yarn | None = None
    magnitude: float = 1.0
    original_context: int = 0

    def tables(self, positions: int, factors: F32 | None = None) -> tuple[F32, F32]:
        """Cos and sin, each positions × dims/2 in f32; `factors` divide each pair's angle."""
        inverse = self._frequencies()
        if factors is not None:
            inverse = inverse / factors.astype(np.float64)
        angles = np.arange(positions, dtype=np.float64)[:, None] * inverse[None, :]
        return (np.cos(angles) * self.magnitude).astype(np.float32), (np.sin(angles) * self.magnitude).astype(
            np.float32
        )

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
            turns = self.original_context / (rotations * 2.0 * math.pi)
            return self.dims * math.log(turns) / (2.0 * math.log(self.base))

        return max(0.0, math.floor(pair(yarn.beta_fast))), min(self.dims - 1.0, math.ceil(pair(yarn.beta_slow)))


def read_base(hparams: Hparams, key: str = "rope.freq_base", default: float = BASE) -> float:
    """The base of a rotation's angles."""
    return hparams.number(key, default, low=1.0 + 1e-6, high=1e12)


def read_rotation(hparams: Hparams, dims: int, context: int, kinds: tuple[str, ...] = KINDS) -> Rotation:
    """The rotation that an architecture's `rope.*` keys declare; a factor without a type is a linear one."""
    base = read_base(hparams)
    hparams.ignore("rope.scaling.finetuned")
    kind = hparams.choice("rope.scaling.type", "linear", kinds)
    old = hparams.number("rope.scale_linear", 1.0, low=1e-3, high=1e6)
    # A factor that shortens has no meaning in YaRN, nor has one of no scaling.
    factor = hparams.number("rope.scaling.factor", old, low=1.0 if kind == "yarn" else 1e-3, high=1e6)
    hparams.require(kind != "none" or factor == 1.0, f"rope.scaling.factor is {factor:g}, allowed 1 without a scaling")
    original = hparams.count("rope.scaling.original_context_length", context, high=1 << 31)
    magnitude = hparams.number("rope.scaling.attn_factor", 1.0, low=1e-3, high=1e3)
    if kind != "yarn":
        return Rotation(dims, base, factor, None, magnitude, original)
    magnitude_of_yarn = 1.0 + 0.1 * math.log(factor)
    hparams.expect("rope.scaling.yarn_ext_factor", 1.0)
    hparams.expect("rope.scaling.yarn_attn_factor", magnitude_of_yarn)
    fast = hparams.number("rope.scaling.yarn_beta_fast", BETA_FAST, low=1e-3, high=1e6)
    slow = hparams.number("rope.scaling.yarn_beta_slow", BETA_SLOW, low=1e-3, high=1e6)
    return Rotation(dims, base, factor, Yarn(fast, slow), magnitude * magnitude_of_yarn, original)
