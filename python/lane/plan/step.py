"""A schedule as the planners and the checker take it: arrays and byte spans, plain numbers.

Enters: a schedule. Leaves: a `Step` of `lane._core`, launch by launch as the schedule numbers them, and which array is
which part of which buffer. Promise: an access names exactly the bytes that the launch kind declares; a view's are
those of the tensor it lies in; a view itself, which does nothing, touches none.

A buffer has up to five arrays: its plain values, and of its quantised form the words, second words (int8x2), scales and
word sums. A matrix is one array of its checkpoint rows.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lane import _core
from lane.graph.tensor import Rows
from lane.launch.data import View
from lane.launch.record import QUANT_BLOCK_ELEMS, SUM_BLOCK_ELEMS, Access, Form, Mode, Numerics
from lane.launch.table import ELEM_BYTES
from lane.plan.cost import LaunchCost
from lane.quant.registry import format_named
from lane.schedule.buffers import Buffer, Fill, ScheduleError
from lane.schedule.schedule import Schedule


class Part(enum.Enum):
    """The arrays that a buffer may have; of all but `MATRIX` the values are columns of the buffer table."""

    PLAIN = "plain"
    WORDS = "words"
    SECOND = "second"
    SCALES = "scales"
    SUMS = "sums"
    MATRIX = "matrix"


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes of an array: `count` runs of `width`, `pitch` apart, the first at `begin`."""

    begin: int
    width: int
    pitch: int = 0
    count: int = 1


_FREE = LaunchCost(0.0, 1.0)  # where nobody asks for times
_TOUCH = {
    Mode.READ: _core.Touch.READ,
    Mode.READ_ROWS: _core.Touch.READ,  # some of them: which is the position's matter
    Mode.WRITE: _core.Touch.WRITE,
    Mode.UPDATE: _core.Touch.UPDATE,
}


class LoweredStep:
    """A schedule's step in numbers. `arrays` says of each array which buffer's and which part it is."""

    def __init__(self, schedule: Schedule, costs: Mapping[int, LaunchCost] | None = None) -> None:
        self.schedule = schedule
        self.step = _core.Step()
        self.arrays: list[tuple[Buffer, Part]] = []
        self.sizes_bytes: list[int] = []  # by array
        self._index: dict[tuple[str, Part], int] = {}
        self._touched: dict[tuple[str, Form], list[tuple[int, Span]]] = {}
        for number, item in enumerate(schedule.launches):
            cost = _FREE if costs is None else costs[number]
            accesses = [] if isinstance(item.launch, View) else list(item.launch.accesses())
            name = f"{item.launch.kind} {accesses[-1].name}" if accesses else item.launch.kind
            self.step.add_launch(name, cost.alone_us, cost.share)
            for access in accesses:
                self._add_access(number, access)

    def _add_access(self, number: int, access: Access) -> None:
        key = (access.name, access.form)
        if key not in self._touched:
            self._touched[key] = list(self._find_touched(access))
        touch = _TOUCH.get(access.mode) or self._partial_touch(number, access)
        for array, span in self._touched[key]:
            self.step.add_access(number, array, touch, span.begin, span.width, span.pitch, span.count)

    def _find_touched(self, access: Access) -> Iterator[tuple[int, Span]]:
        """The bytes of one form of a buffer, array by array."""
        buffer, base = self.schedule.buffers[access.name], self._base(access.name)
        for part in form_parts(access.form, self.schedule.numerics):
            array = self._array(base, part)
            if buffer is base:
                yield array, Span(0, self.sizes_bytes[array])
                continue
            for span in part_spans(buffer.offset, buffer.elems, base, part, self.schedule.numerics):
                yield array, span

    def _partial_touch(self, number: int, access: Access) -> _core.Touch:
        """Rows, or a part of every unit, of a tensor that is there before the step: written somewhere in it."""
        base = self._base(access.name)
        if is_step_local(base, self.schedule):
            raise ScheduleError(
                f"plan: launch {number} '{self.schedule.launches[number].launch}': {access.mode.value} of "
                f"step-local '{base.name}', allowed an access that covers all of it"
            )
        return _core.Touch.UPDATE

    def _base(self, name: str) -> Buffer:
        """The tensor that a buffer lies in: its own, unless it is a view."""
        buffer = self.schedule.buffers[name]
        return buffer if buffer.base is None else self.schedule.buffers[buffer.base]

    def _array(self, buffer: Buffer, part: Part) -> int:
        key = (buffer.name, part)
        if key not in self._index:
            local = is_step_local(buffer, self.schedule)
            size_bytes = part_bytes(buffer, part, self.schedule.numerics)
            self._index[key] = self.step.add_array(
                f"{buffer.name} {part.value}",
                size_bytes,
                _core.Space.ARENA if local else _core.Space.OUTSIDE,
                holds_values=buffer.fill is not Fill.COMPUTED,
                read_only=buffer.fill is Fill.CONSTANT,
            )
            self.arrays.append((buffer, part))
            self.sizes_bytes.append(size_bytes)
        return self._index[key]


def is_step_local(buffer: Buffer, schedule: Schedule) -> bool:
    """Whether a buffer's bytes are the arena's: computed by the step and not bound by its caller."""
    return buffer.fill is Fill.COMPUTED and buffer.name != schedule.io.logits


def form_parts(form: Form, numerics: Numerics) -> tuple[Part, ...]:
    """The arrays of one form of a buffer."""
    if form is Form.PLAIN:
        return (Part.PLAIN,)
    if form is Form.MATRIX:
        return (Part.MATRIX,)
    second = (Part.SECOND,) if numerics is Numerics.INT8X2 else ()
    return (Part.WORDS, *second, Part.SCALES, Part.SUMS)


def part_bytes(buffer: Buffer, part: Part, numerics: Numerics) -> int:
    """The bytes of one array of a buffer."""
    if part is Part.MATRIX:
        placement = buffer.tensor.placement
        assert isinstance(placement, Rows)
        format = format_named(placement.format)
        return placement.rows * (placement.cols // format.block_elems * format.block_bytes)
    return sum(span.width * span.count for span in part_spans(0, buffer.elems, buffer, part, numerics))


def part_spans(offset: int, elems: int, base: Buffer, part: Part, numerics: Numerics) -> Iterator[Span]:
    """The bytes of values [offset, offset + elems) in an array of the tensor that they lie in."""
    if part is Part.PLAIN:
        size = ELEM_BYTES[base.elem]
        yield Span(offset * size, elems * size)
    elif part is Part.SCALES:
        yield Span(offset // QUANT_BLOCK_ELEMS * 4, elems // QUANT_BLOCK_ELEMS * 4)
    elif part is Part.SUMS:  # under int8x2 the second words' sums of the whole tensor follow the first words'
        runs = 2 if numerics is Numerics.INT8X2 else 1
        width, pitch = elems // SUM_BLOCK_ELEMS * 2, base.elems // SUM_BLOCK_ELEMS * 2
        yield Span(offset // SUM_BLOCK_ELEMS * 2, width, pitch, runs)
    else:
        yield Span(offset, elems)
