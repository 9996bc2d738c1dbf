"""Matrices of random blocks in any format, written straight as bytes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lane.quant.format import Format
from tests.py.cpu.one_launch import Matrix

ORDINARY = (2.0**-16, 2.0**12)  # what the greatest size of a block's values is within


def random_matrix(format: Format, rows: int, cols: int, rng: np.random.Generator, cuts: tuple[int, ...] = ()) -> Matrix:
    """A matrix of random bits, its f16 and bf16 fields random numbers of ordinary size, and its values too."""
    data = _random_blocks(format, rows * cols // format.block_elems, rng)
    # Scales that are no floats, or that lie scattered, can be of any size: such blocks are drawn again.
    while (odd := ~is_ordinary(format, data)).any():
        data[odd] = _random_blocks(format, int(odd.sum()), rng)
    return Matrix(format, data.reshape(rows, -1), cuts)


def is_ordinary(format: Format, blocks: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Of each block, whether its values are numbers and the greatest of ordinary size."""
    greatest = np.abs(format.decode(blocks)).max(axis=1)
    ordinary: npt.NDArray[np.bool_] = (greatest > ORDINARY[0]) & (greatest < ORDINARY[1])
    return ordinary


def _random_blocks(format: Format, count: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    data = rng.integers(0, 256, (count, format.block_bytes), np.uint8)
    blocks = data.reshape(-1).view(format.layout)
    if format.name == "BF16":
        blocks[format.layout.names[0]] = _bf16(rng.normal(size=count))
    else:
        for field in format.layout.names or ():
            kind = format.layout[field]
            if kind in (np.dtype(np.float16), np.dtype(np.float32)):
                blocks[field] = (rng.normal(size=count) * 0.1).astype(kind)
    return data


def _bf16(values: np.ndarray) -> np.ndarray:
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
