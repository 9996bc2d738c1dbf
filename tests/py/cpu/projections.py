"""Projections as cases of one device run: what the sweeps over formats share."""

from __future__ import annotations

import numpy as np

from lane.launch.projection import Gemv, Quant
from lane.launch.record import Dest, Launch, Numerics
from lane.quant import registry
from lane.quant.format import Format
from tests.py.cpu.checks import floats
from tests.py.cpu.one_launch import Case, Matrix

FORMAT_NAMES = tuple(format.name for format in registry.FORMATS)


def is_int8(format: Format, numerics: Numerics) -> bool:
    return format.block_elems > 1 and numerics is not Numerics.PRECISE


def projection(matrix: Matrix, rows: int, numerics: Numerics, rng: np.random.Generator) -> Case:
    """x · wᵀ from plain activations, quantised first where the projection wants that."""
    k, n, int8 = matrix.cols, matrix.rows, is_int8(matrix.format, numerics)
    launches: list[Launch] = [Quant(x="x", out="x", n=rows * k)] if int8 else []
    launches.append(Gemv(x="x", w="w", y=Dest("y"), k=k, n=n, m=rows, read_quant=int8))
    arrays = {"x": floats(rng, rows, k), "y": np.full(rows * n, np.nan, np.float32)}
    return Case(launches, arrays, {"w": matrix}, frozenset({"x"} if int8 else ()), numerics)
