"""Launches that move values, and the arg-max: exact."""

from __future__ import annotations

import numpy as np
import pytest

from lane.launch.data import Gather, SetRow, Slice, View
from lane.launch.record import Numerics
from lane.launch.step import ArgMax
from lane.launch.tiles import tile
from lane.quant.registry import format_named
from tests.py.cpu.checks import check, floats
from tests.py.cpu.matrices import random_matrix
from tests.py.cpu.one_launch import Case, Device, Plain, run_device
from tests.py.cpu.projections import FORMAT_NAMES
from tests.py.cpu.sweeps import sweeps

STRETCH = tile("cpu_task_elems")  # logits whose greatest one task finds


def ints(*values: int) -> Plain:
    return np.array(values, np.int32)


@sweeps(Gather)
@pytest.mark.parametrize("numerics", list(Numerics), ids=lambda n: n.value)
@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_gather(name: str, numerics: Numerics) -> None:
    """Rows of every format, dequantised, at indices that repeat and reach both ends; scaled with one rounding."""
    format = format_named(name)
    rng = np.random.default_rng(1)
    cols = 256 if format.block_elems > 1 else 77
    matrix = random_matrix(format, 40, cols, rng, (13,))
    index = ints(0, 39, 12, 13, 13, *rng.integers(0, 40, 60))
    arrays = {"i": index, "y": np.zeros(len(index) * cols, np.float32)}
    for rows, scale in ((1, 1.0), (len(index), 1.0), (len(index), 24.0), (len(index), 1 / 3)):
        check(Case([Gather("t", "i", "y", rows, cols, scale)], arrays, {"t": matrix}, numerics=numerics), {})


@sweeps(SetRow)
@pytest.mark.parametrize(
    ("cols", "count", "length", "at"), [(1, 1, 1, 0), (7, 3, 10, 7), (192, 1, 4, 3), (65, 300, 311, 11)]
)
def test_set_row(cols: int, count: int, length: int, at: int) -> None:
    rng = np.random.default_rng(cols)
    arrays = {"t": floats(rng, length, cols), "i": ints(at), "x": floats(rng, count, cols)}
    check(Case([SetRow("t", "i", "x", cols, count)], arrays), {})
    check(Case([SetRow("t", None, "x", cols, count, row=length - count)], arrays), {})


@sweeps(Slice)
@pytest.mark.parametrize(
    ("groups", "every", "start", "width"),
    [(1, 1, 0, 1), (5, 7, 2, 3), (9, 64, 0, 64), (3, 9000, 8999, 1), (300, 70, 6, 64)],
)
def test_slice(groups: int, every: int, start: int, width: int) -> None:
    rng = np.random.default_rng(every)
    arrays = {"x": floats(rng, groups, every), "y": np.zeros(groups * width, np.float32)}
    check(Case([Slice("x", "y", groups, every, start, width)], arrays), {})


def argmax(x: Plain, rows: int = 1, advance: int = 1) -> Case:
    launch = ArgMax("x", "token", "pos", len(x) // rows, rows, advance)
    return Case([launch], {"x": x, "token": ints(-1), "pos": ints(41)})


@sweeps(ArgMax)
@pytest.mark.parametrize("n", [1, 7, 8, 9, STRETCH - 1, STRETCH, STRETCH + 1, 5 * STRETCH + 3])
def test_argmax(n: int) -> None:
    rng = np.random.default_rng(n)
    for place in {0, n // 2, n - 1}:
        x = floats(rng, n)
        x[place] = 9
        assert check(argmax(x), {})["token"] == place


def test_argmax_of_rows_takes_the_last_and_advances() -> None:
    x = np.array([9, 0, 0, 0, 0, 8], np.float32)
    found = check(argmax(x, rows=2, advance=5), {})
    assert (found["token"], found["pos"]) == (2, 46)


@pytest.mark.parametrize("places", [(3, 5), (STRETCH - 1, STRETCH), (7, 2 * STRETCH), (STRETCH + 5, STRETCH + 4)])
def test_argmax_takes_the_lowest_of_equals(places: tuple[int, int]) -> None:
    x = floats(np.random.default_rng(0), 3 * STRETCH)
    x[list(places)] = 9
    assert check(argmax(x), {})["token"] == min(places)


@pytest.mark.parametrize("n", [3, 8, 17, STRETCH + 9])
def test_argmax_never_takes_nan(n: int) -> None:
    x = np.full(n, np.nan, np.float32)
    assert check(argmax(x), {})["token"] == 0
    x[n - 1] = -np.inf
    assert check(argmax(x), {})["token"] == 0
    x[n - 2] = -3
    assert check(argmax(x), {})["token"] == n - 2
    x[0] = np.inf
    assert check(argmax(x), {})["token"] == 0


@sweeps(View)
def test_a_view_is_no_work() -> None:
    """A view that the buffer table resolved: of the same array from its start on."""
    case = Case([View("x", "x", 0, 3)], {"x": np.arange(5, dtype=np.float32)})
    np.testing.assert_array_equal(run_device(case)["x"], case.arrays["x"])
    assert list(Device(case).program.profile(0, [])) == [0]
