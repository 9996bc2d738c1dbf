"""A schedule: a form's launches in order, its buffers, and the fusions that fired.

Enters: a verified graph and numerics. Leaves: what every device, planner and report reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lane.graph.graph import Head, StepGraph, StepIo
from lane.launch.data import View
from lane.launch.fields import Access, Storage
from lane.launch.quantised import QUANT_BLOCK_ELEMS, component_bytes, components
from lane.launch.record import Numerics
from lane.launch.table import ELEM_BYTES, Elem
from lane.link.link import Linked, link
from lane.quant.registry import format_named
from lane.schedule.buffers import Buffer, Fill, ScheduleError, lay_out


@dataclass(frozen=True, slots=True)
class Scratch:
    """An array that a launch has for itself while it runs; a `counter` is zeroed once, and left at zero."""

    name: str
    size_bytes: int
    counter: bool = False


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

    def bytes_moved(self, item: Linked, position: int | None = None) -> int:
        """Bytes that a launch reads and writes in a step at `position` (none: the last that fits), each array once."""
        return sum(self.access_bytes(access, position) for access in item.accesses())

    def operations(self, position: int | None = None) -> int:
        """Arithmetic operations of the whole step."""
        return sum(item.launch.operations(position) for item in self.launches)

    def dump(self) -> str:
        """The schedule as text, stable: goldens compare it."""
        lines = [f"schedule rows={self.rows} head={self.head.value} numerics={self.numerics.value}"]
        lines += [f"  buffer {buffer}" for buffer in self.buffers.values()]
        for number, item in enumerate(self.launches):
            lines.append(f"  {number:4d} {item.launch}  ops={','.join(map(str, item.ops)) or '-'}")
        lines += [f"  fired {rule} {','.join(map(str, covered))}" for rule, covered in self.firings]
        return "\n".join(lines) + "\n"

    def access_bytes(self, access: Access, position: int | None = None) -> int:
        """Bytes of one access of a launch: those of the elements that its kind says."""
        buffer = self.buffers[access.name]
        elems = buffer.elems if access.extent is None else access.extent.elems(position)
        if buffer.rows is not None:
            return format_named(buffer.rows.format).bytes_of(elems)
        arrays = components(access.storage, self.numerics)
        return sum(component_bytes(component, elems, buffer.elem) for component in arrays)


def schedule(graph: StepGraph, numerics: Numerics) -> Schedule:
    """Links a graph and schedules it."""
    return schedule_linked(graph, link(graph, numerics), numerics)


def schedule_linked(graph: StepGraph, linked: tuple[Linked, ...], numerics: Numerics) -> Schedule:
    """Lays out the buffers of a linked graph and checks the result."""
    result = Schedule(graph.rows, graph.head, numerics, linked, lay_out(graph, linked), graph.io)
    check(result)
    return result


def with_scratch(s: Schedule, wanted: Mapping[int, Sequence[Scratch]]) -> Schedule:
    """The schedule with what its launches, by number, have for themselves on some device: arrays named after them, and
    counters, which live across steps, after the form too."""
    form = f"{s.rows}.{s.head.value}"
    launches, buffers = list(s.launches), dict(s.buffers)
    for number, arrays in wanted.items():
        item = launches[number]
        names: dict[bool, list[str]] = {False: [], True: []}
        for array in arrays:
            name = f"{item.launch.kind}.{number}.{array.name}"
            name = f"{form}.{name}" if array.counter else name
            elem, fill = (Elem.I32, Fill.COUNTER) if array.counter else (Elem.F32, Fill.SCRATCH)
            buffers[name] = Buffer(name, -(-array.size_bytes // ELEM_BYTES[elem]), elem, fill, True, False, None)
            names[array.counter].append(name)
        launches[number] = replace(item, scratch=tuple(names[False]), counters=tuple(names[True]))
    return replace(s, launches=tuple(launches), buffers=buffers)


def check(s: Schedule) -> None:
    """Refuses what no kernel takes: element types that a kind does not take, quantised tensors not in whole blocks."""
    for buffer in s.buffers.values():
        if buffer.quant and buffer.elems % QUANT_BLOCK_ELEMS:
            raise ScheduleError(
                f"schedule: '{buffer.name}' is read quantised; it has {buffer.elems} values, "
                f"allowed a multiple of {QUANT_BLOCK_ELEMS}"
            )
    for number, item in enumerate(s.launches):
        for access in item.accesses():
            buffer = s.buffers[access.name]
            if access.storage is Storage.PLAIN and buffer.elem not in access.elems:
                allowed = " or ".join(elem.value for elem in access.elems)
                raise ScheduleError(
                    f"schedule: launch {number} '{item.launch}': '{buffer.name}' is {buffer.elem.value}, "
                    f"allowed {allowed}"
                )
