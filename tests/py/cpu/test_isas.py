"""Instruction sets: each that kernels are compiled for runs, or is refused by name where the machine lacks it."""

from __future__ import annotations

import numpy as np
import pytest

from lane import _core
from lane.errors import UsageError
from lane.launch.projection import Quant
from tests.py.cpu.one_launch import Case, Device, run_device


@pytest.mark.parametrize("isa", ["portable", "avx2", "avx512"])
def test_runs_or_is_refused(isa: str) -> None:
    case = Case([Quant(x="x", out="x", n=32)], {"x": np.ones(32, np.float32)}, quantised=frozenset({"x"}))
    if isa not in _core.cpu_isas():
        with pytest.raises(UsageError, match=f"instruction set: found {isa}, allowed on this machine: auto, portable"):
            Device(case, isa)
        return
    device = Device(case, isa)
    assert device.program.isa == isa
    device.run()


def test_the_default_is_the_fastest() -> None:
    assert _core.CpuProgram(1, 1).isa == _core.cpu_isas()[-1]


def test_unknown_is_refused() -> None:
    case = Case([Quant(x="x", out="x", n=32)], {"x": np.ones(32, np.float32)}, quantised=frozenset({"x"}))
    with pytest.raises(UsageError, match="instruction set: found mmx, allowed on this machine: auto, portable"):
        run_device(case, "mmx")
