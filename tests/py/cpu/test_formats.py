"""Every quant format on the CPU device: its decode, bit for bit, and its products under each numerics.

The orders of sums are the device's own, so a product is held to its definition by a bound, and to itself bit for bit:
whatever the instruction set, the threads and the rows computed with a row.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from lane import _core
from lane.launch.data import Gather
from lane.launch.projection import Gemv, Quant
from lane.launch.record import Launch, Numerics
from lane.quant.format import Format
from lane.quant.registry import FORMATS
from tests.py.cpu.one_launch import Case, Matrix, Plain, run_definition, run_device

F32 = npt.NDArray[np.float32]

ISAS = _core.cpu_isas()
BLOCK_FORMATS = [format for format in FORMATS if format.block_elems > 1]

EACH_FORMAT = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
EACH_BLOCK_FORMAT = pytest.mark.parametrize("format", BLOCK_FORMATS, ids=lambda format: format.name)
EACH_NUMERICS = pytest.mark.parametrize("numerics", Numerics, ids=lambda numerics: numerics.value)
EACH_ISA = pytest.mark.parametrize("isa", ISAS)

# Rows, and columns of the product: one, those that a GEMV streams a matrix for, then full and broken tiles of a GEMM;
# below, at and above a panel's columns, and a prime.
SHAPES = ((1, 1), (1, 35), (2, 16), (3, 17), (4, 15), (5, 47), (9, 32), (33, 48))


def random_blocks(format: Format, count: int, seed: int) -> npt.NDArray[np.uint8]:
    """Random bits: scales of every size, infinite and NaN ones included."""
    return np.random.default_rng(seed).integers(0, 256, (count, format.block_bytes), np.uint8)


def extreme_blocks(format: Format, seed: int) -> npt.NDArray[np.uint8]:
    """Of each byte in turn every value, among random others; and blocks of one byte throughout."""
    blocks = random_blocks(format, 256 * format.block_bytes, seed)
    for at in range(format.block_bytes):
        blocks[256 * at : 256 * (at + 1), at] = np.arange(256)
    uniform = np.repeat(np.arange(256, dtype=np.uint8)[:, None], format.block_bytes, axis=1)
    return np.concatenate([blocks, uniform])


def ordinary_blocks(format: Format, count: int, seed: int) -> npt.NDArray[np.uint8]:
    """Random bits, without the blocks that have a value that is no number, or none of ordinary size."""
    kept = np.empty((0, format.block_bytes), np.uint8)
    while len(kept) < count:
        blocks = random_blocks(format, 4 * count, seed)
        with np.errstate(all="ignore"):
            largest = np.abs(format.decode(blocks)).max(axis=1)
            kept = np.concatenate([kept, blocks[(largest > 2**-8) & (largest < 2**8)]])
        seed += 1
    return kept[:count]


def ordinary_matrix(format: Format, rows: int, cols: int, seed: int = 0) -> Matrix:
    """A matrix of ordinary blocks, in two runs where it has two rows."""
    blocks = ordinary_blocks(format, rows * cols // format.block_elems, seed)
    return Matrix(format, blocks.reshape(rows, -1), (rows // 2,) if rows > 1 else ())


def inner_sizes(format: Format) -> tuple[int, ...]:
    """Values of a row: whole groups of eight chunks, and where blocks are smaller a group with fewer."""
    if format.block_elems == 1:
        return (64, 96 + 7)
    return (256, 768) if format.block_elems == 256 else (format.block_elems, 256, 256 + 3 * format.block_elems)


def random_rows(rows: int, cols: int) -> F32:
    """Activations of sizes that differ from block to block."""
    rng = np.random.default_rng(rows * cols)
    sizes = np.exp(rng.normal(size=(rows, -(-cols // 32), 1)))
    blocks = rng.normal(size=(rows, -(-cols // 32), 32)) * sizes
    return blocks.reshape(rows, -1)[:, :cols].astype(np.float32)


def product_case(matrix: Matrix, x: F32, numerics: Numerics) -> Case:
    m, k = x.shape
    quant = numerics is not Numerics.PRECISE and matrix.format.block_elems > 1
    launches: list[Launch] = [Quant("x", "x", m * k)] if quant else []
    launches.append(Gemv("x", "w", "y", k, matrix.rows, m, quant))
    arrays = {"x": x.reshape(-1), "y": np.zeros(m * matrix.rows, np.float32)}
    return Case(launches, arrays, {"w": matrix}, frozenset({"x"} if quant else ()), numerics)


def product(matrix: Matrix, x: F32, numerics: Numerics, isa: str, threads: int = 1) -> F32:
    return run_device(product_case(matrix, x, numerics), isa, threads)["y"].reshape(len(x), matrix.rows)


def bound(matrix: Matrix, x: F32, numerics: Numerics) -> npt.NDArray[np.float64]:
    """How far a product's entries may be from their definition.

    With u = 2^-24. Plain products: in f64, the sum's roundings are nothing beside the result's one; in f32 each lane
    adds k/8 rounded terms, then come three steps of folding: (k/8 + 3)·u·Σ|x·w|.

    int8: a unit's term is its exact dot by scale and minimum. The definition rounds a value twice (product, then sum);
    the device rounds the factors (2), the product of scales, the sum of words and, with second words, twice more; each
    of 2·units/8 fused steps of a lane and three of folding rounds a partial sum once. So (units/4 + 10)·u times the sum
    of the terms' sizes, |scale·Σq·x| + |minimum·Σx|. These are not the size of Σ|x·w|, since scale·q and minimum can
    cancel, but as a unit's q lie apart neither factor exceeds four times its greatest |w|: at most 8·Σ|x|·max|w|.
    """
    u = 2.0**-24
    w, size = np.abs(matrix.format.decode(matrix.data).astype(np.float64)), np.abs(x.astype(np.float64))
    k = x.shape[1]
    if numerics is Numerics.PRECISE:
        return 2 * u * (size @ w.T)
    if matrix.format.block_elems == 1:
        return (k / 8 + 3) * u * (size @ w.T)
    greatest = np.repeat(w.reshape(len(w), -1, 16).max(axis=2), 16, axis=1)
    return (k / 16 / 4 + 10) * u * 8 * (size @ greatest.T)


def same_bits(a: Plain, b: Plain) -> bool:
    """Equal bit for bit, any NaN for a NaN."""
    nan = np.isnan(a)
    return bool((nan == np.isnan(b)).all() and (a.view(np.uint32)[~nan] == b.view(np.uint32)[~nan]).all())


@EACH_ISA
@EACH_FORMAT
def test_decode_is_the_formats(format: Format, isa: str) -> None:
    """As lane.quant's, bit for bit, on random and on extreme blocks."""
    blocks = np.concatenate([random_blocks(format, 1000, 1), extreme_blocks(format, 2)])
    blocks = blocks[: len(blocks) // 4 * 4]
    table = Matrix(format, blocks.reshape(len(blocks) // 4, -1), (7,))
    index = np.random.default_rng(3).permutation(table.rows).astype(np.int32)
    arrays: dict[str, Plain] = {"index": index, "out": np.zeros(table.rows * table.cols, np.float32)}
    launch = Gather("w", "index", "out", table.rows, table.cols)
    found = run_device(Case([launch], arrays, {"w": table}), isa)["out"]
    assert same_bits(found, format.decode(table.data)[index].reshape(-1))


@EACH_ISA
@EACH_NUMERICS
@EACH_FORMAT
def test_products_are_near_their_definition(format: Format, numerics: Numerics, isa: str) -> None:
    for k in inner_sizes(format):
        for m, n in SHAPES:
            matrix, x = ordinary_matrix(format, n, k, seed=m), random_rows(m, k)
            case = product_case(matrix, x, numerics)
            found, wanted = run_device(case, isa)["y"], run_definition(case)["y"]
            error = np.abs(found.astype(np.float64) - wanted).reshape(m, n)
            assert (error <= bound(matrix, x, numerics)).all(), f"m {m}, n {n}, k {k}: off by {error.max()}"


@EACH_NUMERICS
@EACH_FORMAT
def test_products_have_the_same_bits_everywhere(format: Format, numerics: Numerics) -> None:
    """A row alone, among others, on two threads and on every instruction set."""
    k = inner_sizes(format)[-1]
    matrix, x = ordinary_matrix(format, 43, k), random_rows(11, k)
    together = product(matrix, x, numerics, ISAS[0])
    for isa in ISAS:
        alone = [product(matrix, x[r : r + 1], numerics, isa) for r in range(len(x))]
        pairs = [product(matrix, x[r : r + 2], numerics, isa) for r in range(0, len(x), 2)]
        assert same_bits(np.concatenate(alone), together), isa
        assert same_bits(np.concatenate(pairs), together), isa
        assert same_bits(product(matrix, x, numerics, isa, threads=2), together), isa


@EACH_NUMERICS
@EACH_BLOCK_FORMAT
def test_products_of_any_bits_are_the_same_everywhere(format: Format, numerics: Numerics) -> None:
    """Blocks whose scales are infinite, NaN, subnormal or zero."""
    k = inner_sizes(format)[-1]
    blocks = random_blocks(format, 64 * k // format.block_elems, 5)
    matrix, x = Matrix(format, blocks.reshape(64, -1)), random_rows(5, k)
    first = product(matrix, x, numerics, ISAS[0])
    for isa in ISAS:
        rows = [product(matrix, x[r : r + 1], numerics, isa) for r in range(len(x))]
        assert same_bits(product(matrix, x, numerics, isa), first), isa
        assert same_bits(np.concatenate(rows), first), isa
