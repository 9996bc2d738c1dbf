"""Where the arrays of a step lie in its arena.

Enters: a schedule. Leaves: for every step-local buffer the byte offset of each array it has. Promise: two arrays share bytes only
where one's last access comes before the other's first; an offset is a multiple of the alignment.

A buffer has up to five arrays: its plain values, and of its quantised form the words, second words (int8x2), scales and word sums.
Each lives from the first launch that writes its form to the last that reads it; an access to a view is one to the tensor it lies in.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lane import _core
from lane.launch.data import View
from lane.launch.record import QUANT_BLOCK_ELEMS, SUM_BLOCK_ELEMS, Form, Numerics
from lane.launch.table import ALIGNMENT_BYTES, ELEM_BYTES
from lane.schedule.buffers import Buffer, Fill
from lane.schedule.schedule import Schedule


class Part(enum.Enum):
    """The arrays that a buffer may have; the values are columns of the buffer table."""

    PLAIN = "plain"
    WORDS = "words"
    SECOND = "second"
    SCALES = "scales"
    SUMS = "sums"


@dataclass(frozen=True, slots=True)
class Life:
    """The launches over which a form of a buffer is live: half-open, by their index in the schedule."""

    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Placed:
    """One array of a buffer and where it lies."""

    buffer: str
    part: Part
    size_bytes: int
    life: Life
    offset_bytes: int


@dataclass(frozen=True)
class ArenaPlan:
    """The arena of one form."""

    arrays: tuple[Placed, ...]
    total_bytes: int
    lower_bound_bytes: int
    _offsets: Mapping[str, Mapping[Part, int]] = field(repr=False)

    def offset(self, buffer: str, part: Part) -> int:
        """The byte offset of an array; -1: the buffer has none of this part in the arena."""
        return self._offsets.get(buffer, {}).get(part, -1)


def plan_arena(schedule: Schedule) -> ArenaPlan:
    """Places every step-local array of a schedule; the step's logits are its caller's and not among them."""
    problem = _core.ArenaProblem(ALIGNMENT_BYTES)
    wanted: list[tuple[Buffer, Part, int, Life]] = []
    for (name, form), life in lifetimes(schedule).items():
        buffer = schedule.buffers[name]
        for part, size_bytes in array_bytes(buffer, form, schedule.numerics):
            problem.add(f"{name} {part.value}", size_bytes, [(life.begin, life.end)])
            wanted.append((buffer, part, size_bytes, life))
    answer = _core.plan_arena(problem, _core.arena_strategies())
    arrays = tuple(
        Placed(buffer.name, part, size_bytes, life, int(offset))
        for (buffer, part, size_bytes, life), offset in zip(wanted, answer.offsets, strict=True)
    )
    offsets: dict[str, dict[Part, int]] = {}
    for array in arrays:
        offsets.setdefault(array.buffer, {})[array.part] = array.offset_bytes
    return ArenaPlan(arrays, answer.total_bytes, answer.lower_bound_bytes, offsets)


def is_step_local(buffer: Buffer, schedule: Schedule) -> bool:
    """Whether a buffer's bytes are the arena's: computed by the step and not bound by its caller."""
    return buffer.fill is Fill.COMPUTED and not buffer.is_matrix and buffer.name != schedule.io.logits


def lifetimes(schedule: Schedule) -> Mapping[tuple[str, Form], Life]:
    """Of each form of each step-local buffer, from its first access to its last, in order of the first."""
    lives: dict[tuple[str, Form], Life] = {}
    for number, item in enumerate(schedule.launches):
        if isinstance(item.launch, View):
            continue
        for access in item.launch.accesses():
            buffer = schedule.buffers[access.name]
            base = schedule.buffers[buffer.base] if buffer.base is not None else buffer
            if not is_step_local(base, schedule):
                continue
            key = (base.name, access.form)
            begin = lives[key].begin if key in lives else number
            lives[key] = Life(begin, number + 1)
    return lives


def array_bytes(buffer: Buffer, form: Form, numerics: Numerics) -> Iterator[tuple[Part, int]]:
    """The arrays of one form of a buffer and their bytes."""
    if form is Form.PLAIN:
        yield Part.PLAIN, buffer.elems * ELEM_BYTES[buffer.elem]
        return
    two = numerics is Numerics.INT8X2
    yield Part.WORDS, buffer.elems
    if two:
        yield Part.SECOND, buffer.elems
    yield Part.SCALES, buffer.elems // QUANT_BLOCK_ELEMS * 4
    yield Part.SUMS, buffer.elems // SUM_BLOCK_ELEMS * (4 if two else 2)
