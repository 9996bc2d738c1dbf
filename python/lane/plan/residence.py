"""Which matrices move to host memory when a device is too small, and in which order.

Enters: the schedules of a lane's forms. Leaves: its matrices, each once however many names it has, with their bytes on
the device and what a decode step reads of them; an order; for a budget, what stays and what moves.

A matrix in host memory costs the decode step what is read of it through the bus instead of the device's own memory.
All matrices cross the same bus, so they move by the part of them that a step reads, the least first: a matrix that no
decode step reads costs nothing, an embedding a row, experts what their router is expected to choose, a projection all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lane import _core
from lane.graph.tensor import Rows
from lane.plan.pool import aligned_bytes
from lane.quant.registry import format_named
from lane.schedule.schedule import Schedule

STAGED_BYTES = 32  # zero bytes after a block matrix, so that a staged read may run past a row's end
GRAPH_BYTES_A_LAUNCH = 16 << 10  # of a captured graph, by its launches: an upper estimate, not measured


@dataclass(frozen=True, slots=True)
class Matrix:
    """One matrix of a lane. `read_bytes` is what one decode step reads of it, padding in proportion."""

    name: str
    rows: Rows
    size_bytes: int
    read_bytes: float


@dataclass(frozen=True, slots=True)
class Residence:
    """What moved, in the order in which it did, and what that leaves where."""

    moved: tuple[Matrix, ...]
    device_bytes: int
    host_bytes: int


def device_bytes(rows: Rows) -> int:
    """The bytes that a matrix takes of a device's pool. Q8_0 lies split, words and scales apart, in as many bytes."""
    format = format_named(rows.format)
    staged = 0 if format.block_elems == 1 or rows.format == "Q8_0" else STAGED_BYTES
    return aligned_bytes(rows.size_bytes + staged)


def matrices(schedules: Iterable[Schedule], decode: Schedule) -> list[Matrix]:
    """The matrices of these forms, in order of first use; tied names are one."""
    names: dict[Rows, str] = {}
    for schedule in (decode, *schedules):
        for buffer in schedule.buffers.values():
            if buffer.rows is not None:
                names.setdefault(buffer.rows, buffer.name)
    read = _bytes_read(decode)
    found = []
    for rows, name in names.items():
        size_bytes = device_bytes(rows)
        found.append(Matrix(name, rows, size_bytes, size_bytes * read.get(rows, 0) / rows.size_bytes))
    return found


def _bytes_read(decode: Schedule) -> Mapping[Rows, int]:
    read: dict[Rows, int] = {}
    for item in decode.executed():
        for access in item.launch.accesses():
            rows = decode.buffers[access.name].rows
            if rows is not None:
                read[rows] = read.get(rows, 0) + decode.access_bytes(access)
    return read


def order_to_move(found: Sequence[Matrix]) -> list[Matrix]:
    """The matrices in the order in which they move, the least decode time lost per byte freed first."""
    numbers = [(matrix.name, matrix.size_bytes, matrix.read_bytes) for matrix in found]
    return [found[i] for i in _core.order_to_move(numbers)]


def choose_residence(order: Sequence[Matrix], arena_bytes: int, fixed_bytes: int, budget_bytes: int) -> Residence:
    """What moves so that the rest fits a budget; CapacityError, with the numbers, where the arena and what cannot move
    exceed it."""
    sizes = [matrix.size_bytes for matrix in order]
    moved, on_device, on_host = _core.choose_residence(sizes, arena_bytes, fixed_bytes, budget_bytes)
    return Residence(tuple(order[i] for i in moved), on_device, on_host)


def spare_bytes(schedules: Iterable[Schedule]) -> int:
    """What the captured graphs of these forms are taken to need."""
    return sum(GRAPH_BYTES_A_LAUNCH * sum(1 for _ in schedule.executed()) for schedule in schedules)
