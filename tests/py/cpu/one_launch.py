"""Runs launches on the CPU device and by their numpy definitions, on the same buffers.

Enters: launches, and the values their buffers start with. Leaves: the plain values of every array afterwards, from
either side. Arrays lie in the pool one after the other with a line of guard bytes between them, which a run must leave
as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from lane import _core
from lane.launch.projection import quantise, quantised_values
from lane.launch.record import F64, Launch, Numerics
from lane.launch.registry import KIND_NUMBER
from lane.launch.table import ALIGNMENT_BYTES, COLUMNS, Elem, Space
from lane.quant.format import Format

GUARD = 0xA5
POOL = list(Space).index(Space.POOL)

Plain = npt.NDArray[Any]


@dataclass(frozen=True)
class Matrix:
    """A matrix in its checkpoint's bytes, cut in runs of rows."""

    format: Format
    data: npt.NDArray[np.uint8]  # rows × row bytes
    cuts: tuple[int, ...] = ()  # first rows of the runs after the first

    @property
    def rows(self) -> int:
        return len(self.data)

    @property
    def cols(self) -> int:
        return self.data.shape[1] // self.format.block_bytes * self.format.block_elems

    def runs(self) -> list[tuple[npt.NDArray[np.uint8], int]]:
        """Each run's bytes, a copy of its own, and its rows."""
        return [(part.reshape(-1).copy(), len(part)) for part in np.split(self.data, self.cuts)]


@dataclass
class Case:
    """Launches over named buffers: arrays of f32 or i32 (copied, not changed) and matrices."""

    launches: Sequence[Launch]
    arrays: Mapping[str, Plain]
    matrices: Mapping[str, Matrix] = field(default_factory=dict)
    quantised: frozenset[str] = frozenset()  # arrays with a quantised form too
    numerics: Numerics = Numerics.INT8


class DefinitionMemory:
    """The arrays of a case as the launches' definitions see them."""

    def __init__(self, case: Case) -> None:
        self.numerics = case.numerics
        self.arrays = {name: array.copy() for name, array in case.arrays.items()}
        self._matrices = {name: m.format.decode(m.data).astype(np.float64) for name, m in case.matrices.items()}

    def plain(self, name: str) -> Plain:
        return self.arrays[name]

    def quantised(self, name: str) -> F64:
        plain = self.arrays[name]
        whole = plain[: len(plain) // 32 * 32]
        words, second, scales = quantise(whole)
        return quantised_values(words, second if self.numerics is Numerics.INT8X2 else None, scales)

    def matrix(self, name: str) -> F64:
        return self._matrices[name]


def run_definition(case: Case) -> dict[str, Plain]:
    """Every array after the launches' numpy definitions ran."""
    memory = DefinitionMemory(case)
    for launch in case.launches:
        launch.compute(memory)
    return memory.arrays


class Device:
    """A case loaded on the CPU device, ready to run."""

    def __init__(self, case: Case, isa: str | None = None, threads: int = 1) -> None:
        self.case = case
        self.program = _core.CpuProgram(threads, list(Numerics).index(case.numerics), isa)
        self.end = ALIGNMENT_BYTES
        self.offsets: dict[tuple[str, str], tuple[int, int]] = {}
        rows = [self._array_row(name, array) for name, array in case.arrays.items()]
        rows += [self._matrix_row(matrix) for matrix in case.matrices.values()]
        index = {name: i for i, name in enumerate([*case.arrays, *case.matrices])}
        self.program.grow_pool(self.end)
        self.program.write(POOL, 0, np.full(self.end, GUARD, np.uint8))
        for name, array in case.arrays.items():
            self.program.write(POOL, self.offsets[name, "plain"][0], array.view(np.uint8))
        words: list[int] = []
        for launch in case.launches:
            words += [KIND_NUMBER[type(launch)], *launch.encode(index.__getitem__)]
        self.form = self.program.add_form(np.array(rows, np.int64), np.array(words, np.int64), 0)

    def run(self, repeat: int = 1) -> dict[str, Plain]:
        """Every plain array after `repeat` runs."""
        self.program.run(self.form, [], repeat)
        self._check_guards()
        return {name: self.read(name, "plain").view(array.dtype) for name, array in self.case.arrays.items()}

    def read(self, name: str, part: str) -> npt.NDArray[np.uint8]:
        """The bytes of one of a buffer's arrays."""
        return np.asarray(self.program.read(POOL, *self.offsets[name, part]))

    def _carve(self, name: str, part: str, size: int) -> int:
        at = self.end
        self.offsets[name, part] = (at, size)
        self.end += -(-size // ALIGNMENT_BYTES) * ALIGNMENT_BYTES + ALIGNMENT_BYTES
        return at

    def _array_row(self, name: str, array: Plain) -> list[int]:
        assert array.ndim == 1 and array.dtype in (np.float32, np.int32)
        columns = {"plain": self._carve(name, "plain", array.nbytes)}
        if name in self.case.quantised:
            columns["words"] = self._carve(name, "words", len(array))
            columns["scales"] = self._carve(name, "scales", len(array) // 32 * 4)
            if self.case.numerics is Numerics.INT8X2:
                columns["second"] = self._carve(name, "second", len(array))
        elem = Elem.I32 if array.dtype == np.int32 else Elem.F32
        return [POOL, list(Elem).index(elem), len(array), *_offsets(columns)]

    def _matrix_row(self, matrix: Matrix) -> list[int]:
        number = self.program.add_matrix(matrix.format.type_id, matrix.rows, matrix.cols, matrix.runs())
        elems = matrix.rows * matrix.cols
        return [list(Space).index(Space.MATRIX), 0, elems, *_offsets({"plain": number})]

    def _check_guards(self) -> None:
        pool = np.asarray(self.program.read(POOL, 0, self.end)).copy()
        for at, size in self.offsets.values():
            pool[at : at + size] = GUARD
        assert (pool == GUARD).all(), "a launch wrote outside its buffers"


def _offsets(columns: Mapping[str, int]) -> list[int]:
    return [columns.get(name, -1) for name in COLUMNS[3:]]


def run_device(case: Case, isa: str | None = None, threads: int = 1) -> dict[str, Plain]:
    """Every array after the device ran the launches once."""
    return Device(case, isa, threads).run()
