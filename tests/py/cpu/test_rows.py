"""Norms, rotations and elementwise launches against float64, over lengths around a vector's 8 lanes and a task's.

Tolerances. u = 2^-24; `check` allows for the rounding of the result. Under `precise` everything is f64 and that is all;
otherwise:

norm        the row's factor in f64, rounded (u); then x·f, ·w, + b, a rounding each. Centred: x - mean rounded, and the
            mean's own rounding.
rope        two products and their sum.
exp         relative EXP (checks.py). sigmoid, silu: e/(1+e), a sum and a quotient more.
gelu        silu at z = 2·sqrt(2/π)·(x + 0.044715 x³), whose four roundings move e^-z by 4u·|z|.
tanh        polynomial: 4 roundings that count; beyond 5/8: 1 - 2/(e^2x + 1), an absolute error of at most that of the
            quotient, which is below the result there.
"""

from __future__ import annotations

import numpy as np
import pytest

from lane.launch.attention import Rope
from lane.launch.elementwise import Binary, Scale, SwiGlu, Unary
from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import BinaryOp, UnaryOp
from lane.launch.norm import Norm
from lane.launch.record import F64, Dest, Numerics
from lane.launch.tiles import tile
from tests.py.cpu.checks import EXP, U, check, floats, run_everywhere
from tests.py.cpu.one_launch import Case, run_definition
from tests.py.cpu.sweeps import sweeps

NUMERICS = [Numerics.PRECISE, Numerics.INT8]
TASK = tile("cpu_task_elems")  # values of a task
LENGTHS = (1, 7, 8, 9, 64, 67, TASK - 1, TASK, TASK + 1, 20011)
# Rows × columns: around the 8 lanes, and around what one task takes.
SHAPES = (
    *((1, 1), (3, 5), (2, 8), (5, 9), (4, 64), (300, 67)),
    *((1, TASK), (2, TASK - 1), (TASK // 64 - 1, 64), (TASK // 64 + 1, 64)),
)


def ids(value: object) -> str | None:
    return value.value if isinstance(value, (Numerics, UnaryOp, BinaryOp, RopeLayout)) else None


def norm_tolerance(case: Case, launch: Norm) -> F64:
    if case.numerics is Numerics.PRECISE:
        return np.zeros(launch.rows * launch.cols)
    x = case.arrays["x"].astype(np.float64).reshape(launch.rows, launch.cols)
    mean = x.mean(axis=1, keepdims=True) if launch.centre else 0.0
    factor = 1 / np.sqrt(((x - mean) ** 2).mean(axis=1, keepdims=True) + launch.eps)
    w = np.abs(case.arrays["w"].astype(np.float64)) if launch.w else 1.0
    b = np.abs(case.arrays["b"].astype(np.float64)) if launch.bias else 0.0
    moved = (np.abs(mean) + np.abs(x - mean)) * factor * w
    scaled = np.abs(x - mean) * factor * w
    tolerance: F64 = (4 * scaled + 2 * moved * launch.centre + scaled + b) * U
    return tolerance.reshape(-1)


@sweeps(Norm)
@pytest.mark.parametrize("numerics", NUMERICS, ids=ids)
@pytest.mark.parametrize(("rows", "cols"), SHAPES)
@pytest.mark.parametrize("centre", [False, True])
def test_norm(rows: int, cols: int, centre: bool, numerics: Numerics) -> None:
    rng = np.random.default_rng(rows * cols)
    arrays = {"x": 3 * floats(rng, rows, cols) + np.float32(0.5), "w": floats(rng, cols), "b": floats(rng, cols)}
    arrays["y"] = np.zeros(rows * cols, np.float32)
    for w, b in ((None, None), ("w", None), ("w", "b")):
        launch = Norm(x="x", w=w, bias=b, out="y", rows=rows, cols=cols, eps=1e-5, centre=centre)
        case = Case([launch], arrays, numerics=numerics)
        check(case, {"y": norm_tolerance(case, launch)})


def test_norm_in_place_and_of_zeros() -> None:
    rng = np.random.default_rng(0)
    x = floats(rng, 4, 33)
    x[33:66] = 0
    launch = Norm(x="x", w=None, bias=None, out="x", rows=4, cols=33, eps=1e-6)
    case = Case([launch], {"x": x})
    found = check(case, {"x": norm_tolerance(case, launch)})
    assert (found["x"][33:66] == 0).all()


@sweeps(Rope)
@pytest.mark.parametrize("numerics", NUMERICS, ids=ids)
@pytest.mark.parametrize("layout", list(RopeLayout), ids=ids)
@pytest.mark.parametrize(
    ("rows", "per_row", "hd", "half"), [(1, 1, 2, 1), (1, 9, 64, 32), (5, 3, 80, 20), (40, 4, 64, 32), (7, 2, 13, 5)]
)
def test_rope(rows: int, per_row: int, hd: int, half: int, layout: RopeLayout, numerics: Numerics) -> None:
    rng = np.random.default_rng(hd)
    angles = rng.uniform(-np.pi, np.pi, (rows + 3) * half)
    x = floats(rng, rows, per_row, hd)
    arrays = {
        "x": x,
        "cos": np.cos(angles).astype(np.float32),
        "sin": np.sin(angles).astype(np.float32),
        "pos": np.array([2], np.int32),
        "y": np.zeros_like(x),
    }
    launch = Rope("x", "cos", "sin", "pos", Dest("y"), rows * per_row, per_row, hd, half, layout)
    pairs = np.abs(x.reshape(-1, hd)).astype(np.float64)
    largest = np.repeat(pairs.max(axis=1), hd)
    rounded = 0.0 if numerics is Numerics.PRECISE else 2 * U
    check(Case([launch], arrays, numerics=numerics), {"y": 2 * largest * rounded})


@sweeps(Binary)
@pytest.mark.parametrize("numerics", NUMERICS, ids=ids)
@pytest.mark.parametrize("op", list(BinaryOp), ids=ids)
@pytest.mark.parametrize("n", LENGTHS)
def test_binary(n: int, op: BinaryOp, numerics: Numerics) -> None:
    """One operation, one rounding: exact. Against an operand of the same length, and in place."""
    rng = np.random.default_rng(n)
    arrays = {"a": floats(rng, n), "b": floats(rng, n), "y": np.zeros(n, np.float32)}
    check(Case([Binary(op, "a", "b", "y", n, n), Binary(op, "a", "y", "a", n, n)], arrays, numerics=numerics), {})


@pytest.mark.parametrize("op", list(BinaryOp), ids=ids)
@pytest.mark.parametrize(("rows", "cols"), SHAPES)
def test_binary_row(rows: int, cols: int, op: BinaryOp) -> None:
    rng = np.random.default_rng(cols)
    arrays = {"a": floats(rng, rows, cols), "b": floats(rng, cols), "y": np.zeros(rows * cols, np.float32)}
    check(Case([Binary(op, "a", "b", "y", rows * cols, cols, row=True)], arrays), {})


@sweeps(Scale)
@pytest.mark.parametrize("n", LENGTHS)
def test_scale(n: int) -> None:
    """The product with a double is rounded once: exact."""
    rng = np.random.default_rng(n)
    check(Case([Scale("x", "y", n, 1 / 3)], {"x": floats(rng, n), "y": np.zeros(n, np.float32)}), {})


def wide_values(rng: np.random.Generator, n: int) -> np.ndarray:
    """Values of every size, each sign, and the ends of exp's range."""
    x = (rng.choice([-1, 1], n) * np.exp(rng.uniform(-20, 5.5, n))).astype(np.float32)
    ends = np.array([0, -0.0, 88.7, -88.7, 100, -100, 104, -104, 1e30, -1e30, 0.625, -0.625, 0.62499994], np.float32)
    x[: len(ends)] = ends[:n]
    return x


def unary_tolerance(op: UnaryOp, x: F64, y: F64, c: float) -> F64:
    size = np.abs(y)
    if op in (UnaryOp.SILU, UnaryOp.SIGMOID):
        return size * (EXP + 3 * U)
    if op is UnaryOp.GELU:
        z = 2 * np.sqrt(2 / np.pi) * np.abs(x + 0.044715 * x**3)
        return size * (EXP + 3 * U + np.minimum(4 * U * z, 1))
    if op is UnaryOp.SOFTPLUS:
        return np.zeros_like(y)
    return size * (EXP + 6 * U)


@sweeps(Unary)
@pytest.mark.parametrize("numerics", NUMERICS, ids=ids)
@pytest.mark.parametrize("op", list(UnaryOp), ids=ids)
@pytest.mark.parametrize("n", LENGTHS)
def test_unary(n: int, op: UnaryOp, numerics: Numerics) -> None:
    rng = np.random.default_rng(n)
    x = wide_values(rng, n)
    c = 30.0 if op is UnaryOp.SOFT_CAP else 0.0
    case = Case([Unary(op, "x", "y", n, c)], {"x": x, "y": np.zeros(n, np.float32)}, numerics=numerics)
    with np.errstate(all="ignore"):
        y = run_definition(case)["y"].astype(np.float64)
        precise = numerics is Numerics.PRECISE
        allowed = np.zeros(n) if precise else unary_tolerance(op, x.astype(np.float64), y, c)
        if op is UnaryOp.GELU:
            allowed = allowed + np.abs(x) * 2.0**-52  # the definition's own 1 + tanh, near -1 nothing but its rounding
        # Results below the least normal number have fewer bits.
        check(case, {"y": allowed + (0 if precise else np.finfo(np.float32).smallest_normal)})


@pytest.mark.parametrize("op", list(UnaryOp), ids=ids)
def test_unary_passes_nan_on(op: UnaryOp) -> None:
    x = np.array([1, np.nan, -2, np.nan, 3, 4, 5, 6, np.nan], np.float32)
    found = run_everywhere(Case([Unary(op, "x", "x", len(x), 2.0)], {"x": x}))["x"]
    np.testing.assert_array_equal(np.isnan(found), np.isnan(x))


@sweeps(SwiGlu)
@pytest.mark.parametrize("numerics", NUMERICS, ids=ids)
@pytest.mark.parametrize("n", LENGTHS)
def test_swiglu(n: int, numerics: Numerics) -> None:
    rng = np.random.default_rng(n)
    arrays = {"gate": 4 * floats(rng, n), "up": floats(rng, n), "y": np.zeros(n, np.float32)}
    case = Case([SwiGlu("gate", "up", "y", n)], arrays, numerics=numerics)
    y = np.abs(run_definition(case)["y"].astype(np.float64))
    check(case, {"y": y * (0.0 if numerics is Numerics.PRECISE else EXP + 4 * U)})
