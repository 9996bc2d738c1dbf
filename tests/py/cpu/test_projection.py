"""Projections: every format under every numerics, over shapes around the kernels' tiles, against float64.

Tolerances. u = 2^-24. A row's dot is, in each of eight lanes, a chain of fused multiply-adds, and a fold of three
additions: a term passes at most (its lane's terms + 3) roundings, each at most u of the magnitudes added so far.

int8   k/32 or k/16 units (two terms each where a format has minima), and a unit's factor, scale · xscale, is rounded
       once; with second words D + D₂/254 twice more, counting the constant's. Magnitudes: Σ |weight|·|x̂|, where a
       minimum may cancel against the words' part, at most twice its own size more.
f32    k/8 terms a lane.
f64    the same of 2^-53, and the rounding to f32 that `check` allows anyway.
"""

from __future__ import annotations

import numpy as np
import pytest

from lane.launch.projection import Gemv
from lane.launch.quantised import QUANT_BLOCK_ELEMS, quantise, quantised_values
from lane.launch.record import F64, Numerics
from lane.launch.tiles import tile
from lane.quant.format import Format
from lane.quant.registry import format_named
from tests.py.cpu.checks import U, bits, check
from tests.py.cpu.matrices import is_ordinary, random_matrix
from tests.py.cpu.one_launch import Case, Matrix, run_device
from tests.py.cpu.projections import FORMAT_NAMES, is_int8, projection
from tests.py.cpu.sweeps import sweeps

NUMERICS = list(Numerics)

# Rows around: one; the most a matrix is streamed for; a tile's word rows (half as many of two words); a prime.
TILE, PANEL, FLOATS = tile("cpu_tile_streams"), tile("cpu_panel_cols"), tile("cpu_float_cols")
ROWS = (1, 2, tile("cpu_gemv_rows"), TILE, TILE + 1, 2 * TILE - 1, 2 * TILE, 3 * TILE + 1)
# Columns around a panel's and a float tile's.
COLS = (1, FLOATS - 1, FLOATS, PANEL - 1, PANEL, PANEL + 1, 2 * PANEL, 2 * PANEL + 5)
# Quantised blocks around a group's 8, and the four that half a group has.
CHUNKS = (1, 2, 4, 5, 8, 9, 16, 23)
# Widths of float matrices around a vector's 8 lanes.
WIDTHS = (1, 7, 8, 9, 16, 31, 64, 65)


def width(format: Format, step: int) -> int:
    """The step-th width: what a format's rows can have."""
    if format.block_elems == 1:
        return WIDTHS[step]
    return max(CHUNKS[step] * QUANT_BLOCK_ELEMS // format.block_elems, 1) * format.block_elems


def magnitudes(case: Case) -> F64:
    """Σ |x̂|·(|weight| + twice its minimum's bound) of every result."""
    matrix = case.matrices["w"]
    weights = np.abs(matrix.format.decode(matrix.data).astype(np.float64))
    names = matrix.format.layout.names or ()
    blocks = matrix.data.reshape(-1).view(matrix.format.layout)
    for field, most in (("m", 1), ("dmin", 63)):
        if field in names:
            minima = most * np.abs(blocks[field].astype(np.float64))
            weights += 2 * np.repeat(minima, matrix.format.block_elems).reshape(weights.shape)
    x = case.arrays["x"]
    if "x" in case.quantised:
        words, second, scales = quantise(x)
        x = quantised_values(words, second if case.numerics is Numerics.INT8X2 else None, scales)
    result: F64 = np.abs(x.astype(np.float64)).reshape(-1, matrix.cols) @ weights.T
    return result.reshape(-1)


def tolerance(case: Case) -> F64:
    matrix = case.matrices["w"]
    if not is_int8(matrix.format, case.numerics):
        roundings = -(-matrix.cols // 8) + 3
        return magnitudes(case) * roundings * (2.0**-53 if case.numerics is Numerics.PRECISE else U)
    terms = 2 * -(-(matrix.cols // 16) // 8)  # units of 16, a minimum each: the most a format has
    return magnitudes(case) * (terms + 3 + 1 + 2) * U


@sweeps(Gemv)
@pytest.mark.parametrize("numerics", NUMERICS, ids=lambda n: n.value)
@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_sweep(name: str, numerics: Numerics) -> None:
    """Every size of each axis, the others taking turns."""
    format = format_named(name)
    rng = np.random.default_rng(len(name))
    for i in range(len(ROWS)):
        for turn in (0, 3):
            rows, cols, k = ROWS[i], COLS[(i + turn) % len(COLS)], width(format, (3 * i + turn) % len(CHUNKS))
            cuts = (cols // 2,) if cols > 1 else ()
            case = projection(random_matrix(format, cols, k, rng, cuts), rows, numerics, rng)
            check(case, {"y": tolerance(case)})


@pytest.mark.parametrize("numerics", NUMERICS, ids=lambda n: n.value)
@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_a_row_is_the_same_alone(name: str, numerics: Numerics) -> None:
    """A row's bits do not depend on the rows and columns computed with it, nor on threads."""
    format = format_named(name)
    rng = np.random.default_rng(7)
    matrix = random_matrix(format, 53, width(format, 5), rng, (11, 40))
    case = projection(matrix, 37, numerics, rng)
    whole = run_device(case, threads=2)["y"].reshape(37, 53)
    k = matrix.cols
    for first, rows in ((0, 1), (36, 1), (5, 2), (9, 3), (8, 4), (20, 16)):
        part = projection(matrix, rows, numerics, rng)
        part.arrays["x"][:] = case.arrays["x"][first * k : (first + rows) * k]
        np.testing.assert_array_equal(bits(run_device(part)["y"]), bits(whole[first : first + rows].reshape(-1)))
    some = projection(Matrix(format, matrix.data[17:34]), 37, numerics, rng)
    some.arrays["x"][:] = case.arrays["x"]
    np.testing.assert_array_equal(bits(run_device(some)["y"]), bits(whole[:, 17:34].reshape(-1).copy()))


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_extreme_words(name: str) -> None:
    """The largest words of either sign against the largest activations: no sum of products saturates."""
    format = format_named(name)
    rng = np.random.default_rng(11)
    for fill in (0x00, 0xFF, 0x80, 0x7F):
        matrix = random_matrix(format, 16, width(format, 4), rng)
        blocks = matrix.data.reshape(-1).view(format.layout)
        for field in format.layout.names or ():
            if format.layout[field] not in (np.dtype("<f2"), np.dtype("<f4")) and format.block_elems > 1:
                drawn = blocks[field].copy()
                blocks[field] = np.frombuffer(bytes([fill]) * format.layout[field].itemsize, format.layout[field])[0]
                if not is_ordinary(format, matrix.data.reshape(-1, format.block_bytes)).all():
                    blocks[field] = drawn  # a scale that would be zero, or no number
        for numerics in (Numerics.INT8, Numerics.INT8X2):
            case = projection(matrix, 5, numerics, rng)
            signs = np.sign(case.arrays["x"])
            case.arrays["x"][:] = signs * np.float32(1.5)
            case.arrays["x"][: 2 * matrix.cols] = np.float32(1.5)
            check(case, {"y": tolerance(case)})


@pytest.mark.parametrize("numerics", [Numerics.INT8, Numerics.PRECISE], ids=lambda n: n.value)
@pytest.mark.parametrize("name", ["F32", "F16", "BF16"])
def test_panels_of_floats(name: str, numerics: Numerics) -> None:
    """Panels of 64 columns and the 37 left, cut in runs; rows around a stretch's 24; on any number of threads."""
    rng = np.random.default_rng(9)
    matrix = random_matrix(format_named(name), 16 * 64 + 37, 43, rng, (5, 700))
    case = projection(matrix, 49, numerics, rng)
    check(case, {"y": tolerance(case)})
    whole = run_device(case)["y"]
    for threads in (2, 3):
        np.testing.assert_array_equal(bits(run_device(case, threads=threads)["y"]), bits(whole))
    for rows in (1, 23, 24, 25):
        part = projection(matrix, rows, numerics, rng)
        part.arrays["x"][:] = case.arrays["x"][: rows * 43]
        np.testing.assert_array_equal(bits(run_device(part, threads=2)["y"]), bits(whole[: rows * matrix.rows]))


@pytest.mark.parametrize("rows", [1, 8])
def test_runs_of_rows(rows: int) -> None:
    """A matrix in runs of rows is the matrix: stretches and panels that cross from one to the next included."""
    format = format_named("Q4_0")
    rng = np.random.default_rng(3)
    matrix = random_matrix(format, 100, 64, rng)
    case = projection(matrix, rows, Numerics.INT8, rng)
    whole = run_device(case)["y"]
    for cuts in ((1,), (16, 17), (99,), tuple(range(1, 100))):
        cut = Case(case.launches, case.arrays, {"w": Matrix(format, matrix.data, cuts)}, case.quantised)
        np.testing.assert_array_equal(bits(run_device(cut, threads=2)["y"]), bits(whole))


def test_an_infinite_activation_reaches_every_result_of_its_row() -> None:
    rng = np.random.default_rng(4)
    case = projection(random_matrix(format_named("Q8_0"), 20, 128, rng), 5, Numerics.INT8, rng)
    case.arrays["x"][2 * 128 + 50] = np.inf
    found = run_device(case)["y"].reshape(5, 20)
    assert np.isnan(found[2]).all()
    assert np.isfinite(np.delete(found, 2, axis=0)).all()
