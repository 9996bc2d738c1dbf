"""Which instruction sets a run covers: each that kernels are compiled for, skipped where the machine lacks it."""

from __future__ import annotations

import numpy as np
import pytest

from lane import _core
from lane.errors import UsageError
from lane.launch.projection import Quant
from tests.py.cpu.one_launch import Case, Device, run_device


@pytest.mark.parametrize("isa", ["portable", "avx2", "avx512"])
def test_covered(isa: str) -> None:
    if isa not in _core.cpu_isas():
        pytest.skip(f"this machine does not run {isa}: its kernels are compiled but untested here")
    case = Case([Quant(x="x", out="x", n=32)], {"x": np.ones(32, np.float32)}, quantised=frozenset({"x"}))
    device = Device(case, isa)
    assert device.program.isa == isa
    device.run()


def test_the_default_is_the_fastest() -> None:
    assert _core.CpuProgram(1, 1).isa == _core.cpu_isas()[-1]


def test_unknown_is_refused() -> None:
    case = Case([Quant(x="x", out="x", n=32)], {"x": np.ones(32, np.float32)}, quantised=frozenset({"x"}))
    with pytest.raises(UsageError, match="instruction set: found mmx, allowed on this machine: auto, portable"):
        run_device(case, "mmx")
