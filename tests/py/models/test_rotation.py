"""Rotation tables under every scaling, against the formulas written out pair by pair.

Tables are f32 of float64 angles: they agree to one rounding, 1e-7.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from lane.errors import UnsupportedError
from lane.models.hparams import Hparams
from lane.models.rotation import KINDS, LONGROPE, Rotation, Yarn, read_rotation

CLOSE = {"rtol": 2e-7, "atol": 2e-7}
POSITIONS = 50


def check(rotation: Rotation, angle_of: list[float], magnitude: float = 1.0, factors: np.ndarray | None = None) -> None:
    cos, sin = rotation.tables(POSITIONS, factors)
    assert cos.dtype == sin.dtype == np.float32
    wanted = [[p * angle for angle in angle_of] for p in range(POSITIONS)]
    np.testing.assert_allclose(cos, np.cos(wanted) * magnitude, **CLOSE)
    np.testing.assert_allclose(sin, np.sin(wanted) * magnitude, **CLOSE)


PLAIN = [500.0 ** (-2 * i / 16) for i in range(8)]


def test_plain() -> None:
    check(Rotation(16, 500.0), PLAIN)


def test_linear() -> None:
    check(Rotation(16, 500.0, factor=4.0), [a / 4 for a in PLAIN])


def test_factors() -> None:
    factors = np.linspace(1, 8, 8, dtype=np.float32)
    check(Rotation(16, 500.0), [a / float(f) for a, f in zip(PLAIN, factors, strict=True)], factors=factors)


def test_magnitude() -> None:
    check(Rotation(16, 500.0, magnitude=1.25), PLAIN, 1.25)


def test_yarn_ramps_from_the_plain_to_the_linear_angle() -> None:
    """Pairs that turn beta_fast times over the original context keep their angle, those under beta_slow times scale."""
    rotation = Rotation(16, 500.0, 4.0, Yarn(4.0, 1.0), original_context=256)

    def pair(turns: float) -> float:
        return 16 * math.log(256 / (turns * 2 * math.pi)) / (2 * math.log(500.0))

    low, high = math.floor(pair(4.0)), math.ceil(pair(1.0))
    assert 0 < low < high < 7
    angles = []
    for i, angle in enumerate(PLAIN):
        share = min(1.0, max(0.0, (i - low) / (high - low)))
        angles.append(angle * (1 - share) + angle / 4 * share)
    assert angles[0] == PLAIN[0] and angles[-1] == PLAIN[-1] / 4
    check(rotation, angles)


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ({}, Rotation(8, 10000.0, original_context=64)),
        ({"freq_base": 5e5}, Rotation(8, 5e5, original_context=64)),
        ({"scale_linear": 2.0}, Rotation(8, 10000.0, 2.0, original_context=64)),
        ({"scaling.factor": 4.0}, Rotation(8, 10000.0, 4.0, original_context=64)),  # a factor alone is a linear one
        ({"scaling.factor": 4.0, "scale_linear": 2.0}, Rotation(8, 10000.0, 4.0, original_context=64)),
        ({"scaling.type": "none", "scaling.factor": 1.0}, Rotation(8, 10000.0, 1.0, original_context=64)),
        ({"scaling.type": "linear", "scaling.factor": 4.0}, Rotation(8, 10000.0, 4.0, original_context=64)),
        ({"scaling.type": "longrope", "scaling.attn_factor": 1.5}, Rotation(8, 1e4, 1.0, None, 1.5, 64)),
        ({"scaling.attn_factor": 1.5}, Rotation(8, 1e4, 1.0, None, 1.5, 64)),
        (
            {"scaling.type": "yarn", "scaling.factor": 4.0, "scaling.original_context_length": 16},
            Rotation(8, 1e4, 4.0, Yarn(32.0, 1.0), 1.0 + 0.1 * math.log(4.0), 16),
        ),
        (
            {"scaling.type": "yarn", "scaling.factor": 1.0, "scaling.yarn_beta_fast": 8.0},
            Rotation(8, 1e4, 1.0, Yarn(8.0, 1.0), 1.0, 64),
        ),
    ],
)
def test_reading(keys: dict[str, object], wanted: Rotation) -> None:
    metadata = {f"x.rope.{key}": value for key, value in keys.items()}
    assert read_rotation(Hparams(metadata, "x", vocab=1), 8, 64, (*KINDS, LONGROPE)) == wanted


def test_longrope_is_for_families_that_know_its_tensors() -> None:
    with pytest.raises(
        UnsupportedError, match=r"'x\.rope\.scaling\.type': found 'longrope', lane runs none, linear, yarn"
    ):
        read_rotation(Hparams({"x.rope.scaling.type": "longrope"}, "x", vocab=1), 8, 64)
