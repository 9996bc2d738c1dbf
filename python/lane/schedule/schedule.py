"""A schedule: a form's launches in order, its buffers, and the fusions that fired.

Enters: a verified graph and numerics. Leaves: what every device, planner and report reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lane.graph.graph import Head, StepGraph, StepIo
from lane.graph.tensor import Rows
from lane.launch.data import View
from lane.launch.record import QUANT_BLOCK_ELEMS, SUM_BLOCK_ELEMS, Access, Form, Mode, Numerics
from lane.launch.table import ELEM_BYTES, Elem
from lane.link.link import Linked, link
from lane.quant.registry import format_named
from lane.schedule.buffers import Buffer, ScheduleError, lay_out


@dataclass(frozen=True, slots=True)
class Schedule:
    """One form, scheduled. `firings` are (rule, covered ops) of the fusions that fired."""

    rows: int
    head: Head
    numerics: Numerics
    launches: tuple[Linked, ...]
    buffers: Mapping[str, Buffer]
    io: StepIo
    firings: tuple[tuple[str, tuple[int, ...]], ...] = ()

    def executed(self) -> Iterator[Linked]:
        """The launches that do something: all but views."""
        return (item for item in self.launches if not isinstance(item.launch, View))

    def census(self) -> dict[str, int]:
        """Launches by kind, most frequent first; a view is none."""
        return dict(Counter(item.launch.kind for item in self.executed()).most_common())

    def rule_counts(self) -> dict[str, int]:
        """How often each fusion rule fired."""
        return dict(Counter(rule for rule, _ in self.firings).most_common())

    def bytes_moved(self, item: Linked) -> int:
        """Bytes that a launch reads and writes, each array once (tables and gathered matrices: the rows touched)."""
        return sum(self.access_bytes(access, item) for access in item.launch.accesses())

    def operations(self) -> int:
        """Arithmetic operations of the whole step."""
        return sum(item.launch.operations() for item in self.launches)

    def dump(self) -> str:
        """The schedule as text, stable: goldens compare it."""
        lines = [f"schedule rows={self.rows} head={self.head.value} numerics={self.numerics.value}"]
        lines += [f"  buffer {buffer}" for buffer in self.buffers.values()]
        for number, item in enumerate(self.launches):
            lines.append(f"  {number:4d} {item.launch}  ops={','.join(map(str, item.ops)) or '-'}")
        lines += [f"  fired {rule} {','.join(map(str, covered))}" for rule, covered in self.firings]
        return "\n".join(lines) + "\n"

    def access_bytes(self, access: Access, item: Linked) -> int:
        """Bytes of one access of a launch (tables and gathered matrices: the rows touched)."""
        buffer = self.buffers[access.name]
        if access.form is Form.MATRIX:
            return _matrix_bytes(buffer, item)
        elems = buffer.elems
        if access.mode in (Mode.READ_ROWS, Mode.UPDATE, Mode.WRITE_ROWS):  # the rows touched, not the table
            elems = min(elems, self.rows * buffer.tensor.cols)
        if access.form is Form.QUANT:
            return quantised_bytes(elems, self.numerics)
        return elems * ELEM_BYTES[buffer.elem]


def _matrix_bytes(buffer: Buffer, item: Linked) -> int:
    placement = buffer.tensor.placement
    assert isinstance(placement, Rows)
    format = format_named(placement.format)
    rows = getattr(item.launch, "rows", placement.rows)  # a gather touches its rows only
    return int(rows) * placement.cols // format.block_elems * format.block_bytes


def quantised_bytes(elems: int, numerics: Numerics) -> int:
    """Bytes of the quantised form of `elems` values: words, second words, scales and word sums."""
    words = elems * (2 if numerics is Numerics.INT8X2 else 1)
    scales = elems // QUANT_BLOCK_ELEMS * 4
    sums = elems // SUM_BLOCK_ELEMS * 2 * (2 if numerics is Numerics.INT8X2 else 1)
    return words + scales + sums


def schedule(graph: StepGraph, numerics: Numerics) -> Schedule:
    """Links a graph and schedules it."""
    return schedule_linked(graph, link(graph, numerics), numerics)


def schedule_linked(graph: StepGraph, linked: tuple[Linked, ...], numerics: Numerics) -> Schedule:
    """Lays out the buffers of a linked graph and checks the result."""
    result = Schedule(graph.rows, graph.head, numerics, linked, lay_out(graph, linked), graph.io)
    check(result)
    return result


def check(s: Schedule) -> None:
    """Refuses what no kernel takes: 16-bit arrays, and quantised tensors that are not whole blocks."""
    for buffer in s.buffers.values():
        if buffer.quant and buffer.elems % QUANT_BLOCK_ELEMS:
            raise ScheduleError(
                f"schedule: '{buffer.name}' is read quantised; it has {buffer.elems} values, "
                f"allowed a multiple of {QUANT_BLOCK_ELEMS}"
            )
        if buffer.elem in (Elem.F16, Elem.BF16):
            raise ScheduleError(f"schedule: '{buffer.name}' is {buffer.elem.value}, allowed f32 or i32")
