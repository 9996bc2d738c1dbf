"""Runs a case on every instruction set: bits alike everywhere, values within a tolerance of the definition.

Instruction sets that this machine lacks are skipped tests, by name, in test_isas.py; here all that there are run.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lane import _core
from lane.launch.record import F64
from tests.py.cpu.one_launch import Case, Plain, run_definition, run_device

U = 2.0**-24  # unit roundoff of f32
EXP = 3 * U  # relative error of the kernels' exp: half a rounding of its reduced argument, its sum's and scaling's

Tolerances = Mapping[str, F64]


def bits(array: Plain) -> Plain:
    """An array's bits, every NaN alike."""
    raw = array.view(np.int32).copy()
    if array.dtype == np.float32:
        raw[np.isnan(array)] = 0x7FC00000
    return raw


def run_everywhere(case: Case) -> dict[str, Plain]:
    """The case's arrays after it ran, the same bits on every instruction set, on one thread and on three."""
    runs = [(isa, 1) for isa in _core.cpu_isas()] + [(_core.cpu_isas()[-1], 3)]
    results = [(run, run_device(case, *run)) for run in runs]
    _, first = results[0]
    for run, result in results[1:]:
        for name, array in first.items():
            np.testing.assert_array_equal(bits(result[name]), bits(array), f"{name} of {run} against {runs[0]}")
    return first


def check(case: Case, tolerances: Tolerances) -> dict[str, Plain]:
    """Runs everywhere and compares with the definition: named arrays within a tolerance a value, all others exactly."""
    found, wanted = run_everywhere(case), run_definition(case)
    for name, array in wanted.items():
        if name not in tolerances:
            np.testing.assert_array_equal(bits(found[name]), bits(array), name)
            continue
        error = np.abs(found[name].astype(np.float64) - array.astype(np.float64))
        # Either side's result is rounded to f32.
        size, least = np.abs(array.astype(np.float64)), float(np.finfo(np.float32).smallest_subnormal)
        allowed = tolerances[name] + 2 * U * size + least
        worst = int(np.argmax(error / allowed))
        assert (error <= allowed).all(), (
            f"{name}[{worst}]: found {found[name][worst]}, wanted {array[worst]} within {allowed[worst]:.3g}"
        )
    return found


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Flat standard normal f32 values."""
    return rng.normal(size=int(np.prod(shape))).astype(np.float32)
