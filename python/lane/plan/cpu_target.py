"""A CPU of so many threads as what a plan is made for.

Enters: a schedule. Leaves: the same schedule with its launches' scratch as arrays, and the bytes that each thread needs
besides. The kernels say how much (`cpp/cpu/measure.h`), bound to arrays that lie nowhere yet.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lane import _core
from lane.graph.tensor import Rows
from lane.launch.data import View
from lane.launch.fields import STORED
from lane.launch.quantised import Component, components
from lane.launch.record import Numerics
from lane.launch.table import Space
from lane.launch.words import buffer_row, launch_words
from lane.plan.pool import aligned_bytes
from lane.plan.step import array_bytes, places_of
from lane.quant.registry import format_named
from lane.schedule.schedule import Schedule, Scratch, with_scratch


@dataclass(frozen=True, slots=True)
class CpuTarget:
    """What a plan for a CPU depends on: its threads, its instruction set (none: the fastest that there is)."""

    threads: int
    isa: str | None = None

    def with_workspace(self, schedule: Schedule) -> tuple[Schedule, int]:
        """The schedule with its launches' scratch, and the most bytes that threads have besides, all together."""
        planned, thread_bytes = cpu_workspace(schedule, self)
        return planned, self.threads * thread_bytes


def this_cpu(threads: int | None = None, isa: str | None = None) -> CpuTarget:
    """This machine's CPU, for so many threads (none: as many as this process may run on)."""
    return CpuTarget(threads or len(os.sched_getaffinity(0)), isa)


def cpu_workspace(schedule: Schedule, cpu: CpuTarget) -> tuple[Schedule, int]:
    """The schedule with its launches' scratch, and the most bytes that a launch needs of each thread besides."""
    executed = [(number, item) for number, item in enumerate(schedule.launches) if not isinstance(item.launch, View)]
    index = {name: i for i, name in enumerate(schedule.buffers)}
    matrices: dict[Rows, int] = {}
    table = _table_of_nothing(schedule, matrices)
    words = launch_words(((item.launch, None) for _, item in executed), index.__getitem__)
    shapes = [(format_named(rows.format).type_id, rows.rows, rows.cols) for rows in matrices]
    numerics = list(Numerics).index(schedule.numerics)
    needs = _core.cpu_needs(table, np.array(words, np.int64), shapes, numerics, cpu.threads, cpu.isa)
    wanted = {
        number: [Scratch("scratch", scratch_bytes)]
        for (number, _), (scratch_bytes, _) in zip(executed, needs, strict=True)
        if scratch_bytes
    }
    return with_scratch(schedule, wanted), max((thread_bytes for _, thread_bytes in needs), default=0)


def _table_of_nothing(schedule: Schedule, matrices: dict[Rows, int]) -> npt.NDArray[np.int64]:
    """A buffer table in which every array has bytes of its own, of a pool that there is not."""
    places: dict[str, dict[Component, int]] = {}
    rows, end = [], 0
    for buffer in schedule.buffers.values():
        if buffer.rows is not None:
            number = matrices.setdefault(buffer.rows, len(matrices))
            rows.append(buffer_row(Space.MATRIX, buffer.elem, buffer.elems, {Component.MATRIX: number}))
            continue
        base = buffer if buffer.base is None else schedule.buffers[buffer.base]
        if base.name not in places:
            places[base.name] = {}
            for array in dict.fromkeys(a for storage in STORED for a in components(storage, schedule.numerics)):
                places[base.name][array] = end
                end += aligned_bytes(array_bytes(base, array))
        rows.append(buffer_row(Space.POOL, buffer.elem, buffer.elems, places_of(buffer, places[base.name])))
    return np.array(rows, np.int64)
