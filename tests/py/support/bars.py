"""How near logits must come to a reference under each numerics.

precise   relative RMS ≤ 1e-5, and the same top token wherever the reference's best two differ by over 1e-3: weights
          and activations are exact, results rounded to f32 once a launch, some hundred roundings of 6e-8 deep.
int8x2    relative RMS ≤ 1.5e-4: an activation is off by at most half a step of s/254 with s = a/127 of its block's
          largest magnitude a, 1.5e-5·a; RMS over a block is near a/3 and the error's 1/√3 of its bound, so 3e-5 a
          projection; some 28 projections in a row add in quadrature to 1.5e-4.
int8      no worse than another implementation of the same precision on the same file: the median over positions of the
          relative error ≤ 1.2 times that one's (5e-4 where that one multiplies floats), the share of positions with the
          reference's top token at most six points below that one's. (Medians: at a near tie one rounding moves a
          position by more than all else together.)
"""

from __future__ import annotations

import numpy as np

from lane.launch.record import Numerics
from tests.py.support.fixtures import F64, Reference, relative_rms

PRECISE_RMS = 1e-5
PRECISE_GAP = 1e-3
INT8X2_RMS = 1.5e-4
INT8_OVER_PEER = 1.2
INT8_FLOOR = 5e-4
INT8_TOP_POINTS = 0.06


def position_errors(found: F64, wanted: F64) -> F64:
    """Of each position √(Σ(found − wanted)² / Σwanted²)."""
    errors: F64 = np.sqrt(((found - wanted) ** 2).sum(axis=1) / (wanted**2).sum(axis=1))
    return errors


def misses(numerics: Numerics, found: F64, reference: Reference) -> list[str]:
    """Every bar that logits at the reference's positions miss, with the figures."""
    wanted = reference.logits
    if not np.isfinite(found).all():
        return [f"{numerics.value}: logits that are not finite"]
    if numerics is Numerics.INT8:
        return _int8_misses(found, reference)
    missed = []
    rms, bar = relative_rms(found, wanted), PRECISE_RMS if numerics is Numerics.PRECISE else INT8X2_RMS
    if rms > bar:
        missed.append(f"{numerics.value}: relative RMS {rms:.3g}, allowed {bar:.3g}")
    if numerics is Numerics.PRECISE:
        best_two = np.sort(wanted, axis=1)[:, -2:]
        clear = best_two[:, 1] - best_two[:, 0] > PRECISE_GAP
        other = np.flatnonzero(clear & (found.argmax(axis=1) != wanted.argmax(axis=1)))
        if len(other):
            missed.append(f"precise: another top token at positions {reference.positions[other].tolist()}")
    return missed


def _int8_misses(found: F64, reference: Reference) -> list[str]:
    missed = []
    top = reference.logits.argmax(axis=1)
    median = float(np.median(position_errors(found, reference.logits)))
    allowed = max(INT8_OVER_PEER * float(np.median(reference.peer_error)), INT8_FLOOR)
    if median > allowed:
        missed.append(f"int8: median position error {median:.3g}, allowed {allowed:.3g}")
    share, peer_share = float((found.argmax(axis=1) == top).mean()), float((reference.peer_top == top).mean())
    if share < peer_share - INT8_TOP_POINTS:
        missed.append(f"int8: the top token at {share:.1%} of positions, allowed {peer_share - INT8_TOP_POINTS:.1%}")
    return missed
