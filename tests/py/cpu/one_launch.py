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
from lane.launch.fields import STORED, Storage
from lane.launch.quantised import Component, component_bytes, components, requantised
from lane.launch.record import F32, F64, Launch, Numerics
from lane.launch.table import ALIGNMENT_BYTES, Elem, Space
from lane.launch.words import buffer_row, launch_words
from lane.quant.format import Format
from tests.py.cpu.sweeps import note

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
        self._quantised: dict[str, F64] = {}
        self._matrices = {name: m.format.decode(m.data).astype(np.float64) for name, m in case.matrices.items()}

    def plain(self, name: str) -> Plain:
        return self.arrays[name]

    def quantised(self, name: str) -> F64:
        return self._quantised[name]

    def quantise(self, name: str, values: F32, start: int = 0) -> None:
        kept = self._quantised.setdefault(name, np.full(len(self.arrays[name]), np.nan))
        kept[start : start + len(values)] = requantised(values, self.numerics)

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
        note(case.launches)
        self.case = case
        numerics = list(Numerics).index(case.numerics)
        self.program = _core.CpuProgram(threads, numerics, isa)
        self.end = ALIGNMENT_BYTES
        self.offsets: dict[tuple[str, Component], tuple[int, int]] = {}
        rows = [self._array_row(name, array) for name, array in case.arrays.items()]
        rows += [self._matrix_row(matrix) for matrix in case.matrices.values()]
        names = [*case.arrays, *case.matrices]
        shapes = [(m.format.type_id, m.rows, m.cols) for m in case.matrices.values()]
        words = launch_words(((launch, None) for launch in case.launches), names.index)
        table, stream = np.array(rows, np.int64), np.array(words, np.int64)
        launches: list[tuple[Launch, str | None]] = []
        for launch, (scratch_bytes, _) in zip(
            case.launches, _core.cpu_needs(table, stream, shapes, numerics, threads, isa), strict=True
        ):
            scratch = None if scratch_bytes == 0 else f"scratch {len(launches)}"
            launches.append((launch, scratch))
            if scratch is not None:
                names.append(scratch)
                rows.append(self._scratch_row(scratch, scratch_bytes))
        self.program.grow_pool(self.end)
        self.program.write(POOL, 0, np.full(self.end, GUARD, np.uint8))
        for name, array in case.arrays.items():
            self.program.write(POOL, self.offsets[name, Component.PLAIN][0], array.view(np.uint8))
        words = launch_words(launches, names.index)
        self.form = self.program.add_form(np.array(rows, np.int64), np.array(words, np.int64), 0)

    def run(self, repeat: int = 1) -> dict[str, Plain]:
        """Every plain array after `repeat` runs."""
        self.program.run(self.form, [], repeat)
        self._check_guards()
        return {name: self.read(name).view(array.dtype) for name, array in self.case.arrays.items()}

    def read(self, name: str, component: Component = Component.PLAIN) -> npt.NDArray[np.uint8]:
        """The bytes of one of a buffer's arrays."""
        return np.asarray(self.program.read(POOL, *self.offsets[name, component]))

    def _carve(self, name: str, component: Component, size: int) -> int:
        at = self.end
        self.offsets[name, component] = (at, size)
        self.end += -(-size // ALIGNMENT_BYTES) * ALIGNMENT_BYTES + ALIGNMENT_BYTES
        return at

    def _array_row(self, name: str, array: Plain) -> list[int]:
        assert array.ndim == 1 and array.dtype in (np.float32, np.int32)
        elem = Elem.I32 if array.dtype == np.int32 else Elem.F32
        places = {}
        for storage in STORED if name in self.case.quantised else (Storage.PLAIN,):
            for component in components(storage, self.case.numerics):
                places[component] = self._carve(name, component, component_bytes(component, len(array), elem))
        return buffer_row(Space.POOL, elem, len(array), places)

    def _scratch_row(self, name: str, size_bytes: int) -> list[int]:
        elems = -(-size_bytes // 4)
        place = self._carve(name, Component.PLAIN, elems * 4)
        return buffer_row(Space.POOL, Elem.F32, elems, {Component.PLAIN: place})

    def _matrix_row(self, matrix: Matrix) -> list[int]:
        number = self.program.add_matrix(matrix.format.type_id, matrix.rows, matrix.cols, matrix.runs())
        return buffer_row(Space.MATRIX, Elem.F32, matrix.rows * matrix.cols, {Component.MATRIX: number})

    def _check_guards(self) -> None:
        pool = np.asarray(self.program.read(POOL, 0, self.end)).copy()
        for at, size in self.offsets.values():
            pool[at : at + size] = GUARD
        assert (pool == GUARD).all(), "a launch wrote outside its buffers"


def run_device(case: Case, isa: str | None = None, threads: int = 1) -> dict[str, Plain]:
    """Every array after the device ran the launches once."""
    return Device(case, isa, threads).run()
