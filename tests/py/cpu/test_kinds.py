"""Which launch kinds, and which of their options, the device has kernels for; every other is refused by its name."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from lane import _core
from lane.errors import UnsupportedError, UsageError
from lane.launch.record import Launch, Numerics
from lane.launch.registry import KINDS
from lane.launch.table import Elem, Space
from lane.launch.words import buffer_row, launch_words
from tests.py.cpu.sweeps import SWEEPS
from tests.py.support.launches import made, options_of

KERNELS: dict[str, list[str]] = dict(_core.cpu_kinds())
WITHOUT_KERNEL = {"gemv_f32", "gemm_parts", "gemv_glu", "head_gemv", "rope_parts", "join", "fold"}
MODULES = ("test_attention", "test_data", "test_projection", "test_quantise", "test_rows")


def refusal(launch: Launch) -> str:
    program = _core.CpuProgram(1, list(Numerics).index(Numerics.INT8))
    table = np.array([buffer_row(Space.ARENA, Elem.F32, 4, {})], np.int64)
    words = np.array(launch_words([(launch, None)], lambda name: 0), np.int64)
    with pytest.raises(UnsupportedError) as caught:
        program.add_form(table, words, 0)
    return str(caught.value)


def test_kinds_without_a_kernel_are_these() -> None:
    assert {kind.kind for kind in KINDS} - set(KERNELS) == WITHOUT_KERNEL


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.kind in WITHOUT_KERNEL], ids=lambda kind: kind.kind)
def test_a_kind_without_a_kernel_is_refused(kind: type[Launch]) -> None:
    wanted = f"cpu: launch 0 ({kind.kind}): kind: found one without a kernel on the CPU, allowed {', '.join(KERNELS)}"
    assert refusal(made(kind)) == wanted


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.kind in KERNELS], ids=lambda kind: kind.kind)
def test_an_option_without_a_kernel_is_refused(kind: type[Launch]) -> None:
    taken = KERNELS[kind.kind]
    assert set(taken) <= set(options_of(kind))
    for option in options_of(kind):
        if option not in taken:
            allowed = ", ".join(taken) or "none"
            assert refusal(made(kind, option)) == (
                f"cpu: launch 0 ({kind.kind}): {option}: found it in use, allowed {allowed}"
            )


def test_an_ordinal_out_of_range_is_refused() -> None:
    program = _core.CpuProgram(1, list(Numerics).index(Numerics.INT8))
    kind = next(kind for kind in KINDS if kind.kind == "unary")
    words = launch_words([(made(kind), None)], lambda name: 0)
    words[2] = 6
    table = np.array([buffer_row(Space.ARENA, Elem.F32, 4, {})], np.int64)
    with pytest.raises(UsageError, match=r"launch 0 \(unary\): op: found 6, allowed 0 to 5"):
        program.add_form(table, np.array(words, np.int64), 0)


def test_every_kind_with_a_kernel_is_swept() -> None:
    modules = [importlib.import_module(f"tests.py.cpu.{name}") for name in MODULES]
    collected = {value for module in modules for name, value in vars(module).items() if name.startswith("test_")}
    assert {kind.kind for kind in SWEEPS} == set(KERNELS)
    for kind, tests in SWEEPS.items():
        assert collected.issuperset(tests), kind
