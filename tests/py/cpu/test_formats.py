"""Every quant format's blocks of any bits: decoded as lane.quant does, and multiplied alike everywhere.

Products of blocks of ordinary size are held to their definition in test_projection.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from lane import _core
from lane.launch.data import Gather
from lane.launch.record import Numerics
from lane.quant.format import Format
from lane.quant.registry import FORMATS
from tests.py.cpu.checks import bits, run_everywhere
from tests.py.cpu.one_launch import Case, Matrix, Plain, run_device
from tests.py.cpu.projections import projection

BLOCK_FORMATS = [format for format in FORMATS if format.block_elems > 1]


def random_blocks(format: Format, count: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Random bits: scales of every size, infinite and NaN ones included."""
    return rng.integers(0, 256, (count, format.block_bytes), np.uint8)


def extreme_blocks(format: Format, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Of each byte in turn every value, the others random; then blocks of one byte throughout."""
    blocks = random_blocks(format, 256 * format.block_bytes, rng)
    for at in range(format.block_bytes):
        blocks[256 * at : 256 * (at + 1), at] = np.arange(256)
    uniform = np.repeat(np.arange(256, dtype=np.uint8)[:, None], format.block_bytes, axis=1)
    return np.concatenate([blocks, uniform])


@pytest.mark.parametrize("isa", _core.cpu_isas())
@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_decode(format: Format, isa: str) -> None:
    """Bit for bit, any NaN for a NaN: rows of four blocks gathered in another order."""
    rng = np.random.default_rng(format.type_id)
    blocks = np.concatenate([random_blocks(format, 1024, rng), extreme_blocks(format, rng)])
    table = Matrix(format, blocks.reshape(len(blocks) // 4, -1), (7,))
    index = rng.permutation(table.rows).astype(np.int32)
    arrays: dict[str, Plain] = {"index": index, "out": np.zeros(table.rows * table.cols, np.float32)}
    launch = Gather("table", "index", "out", table.rows, table.cols)
    found = run_device(Case([launch], arrays, {"table": table}), isa)["out"]
    np.testing.assert_array_equal(bits(found), bits(format.decode(table.data)[index].reshape(-1)))


@pytest.mark.parametrize("numerics", list(Numerics), ids=lambda numerics: numerics.value)
@pytest.mark.parametrize("format", BLOCK_FORMATS, ids=lambda format: format.name)
def test_products_of_any_bits(format: Format, numerics: Numerics) -> None:
    """Infinite, NaN, subnormal and zero scales: the same bits on every instruction set, a row alone or in tiles."""
    rng = np.random.default_rng(format.type_id)
    rows, cols, k = 6, 37, 512
    blocks = random_blocks(format, cols * k // format.block_elems, rng)
    matrix = Matrix(format, blocks.reshape(cols, -1), (5, 20))
    case = projection(matrix, rows, numerics, rng)
    whole = run_everywhere(case)["y"].reshape(rows, cols)
    for r in range(rows):
        alone = projection(matrix, 1, numerics, rng)
        alone.arrays["x"][:] = case.arrays["x"][r * k : (r + 1) * k]
        np.testing.assert_array_equal(bits(run_everywhere(alone)["y"]), bits(whole[r].copy()))
