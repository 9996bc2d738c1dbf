"""Matrices of random blocks in any format, written straight as bytes."""

from __future__ import annotations

import numpy as np

from lane.quant.format import Format
from tests.py.cpu.one_launch import Matrix


def random_matrix(format: Format, rows: int, cols: int, rng: np.random.Generator, cuts: tuple[int, ...] = ()) -> Matrix:
    """A matrix of random bits, its f16 and bf16 fields random numbers of ordinary size."""
    count = rows * cols // format.block_elems
    data = rng.integers(0, 256, (count, format.block_bytes), np.uint8)
    blocks = data.reshape(-1).view(format.layout)
    if format.name == "BF16":
        blocks[format.layout.names[0]] = _bf16(rng.normal(size=count))
    else:
        for field in format.layout.names or ():
            kind = format.layout[field]
            if kind in (np.dtype(np.float16), np.dtype(np.float32)):
                blocks[field] = (rng.normal(size=count) * 0.1).astype(kind)
    return Matrix(format, data.reshape(rows, -1), cuts)


def _bf16(values: np.ndarray) -> np.ndarray:
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
