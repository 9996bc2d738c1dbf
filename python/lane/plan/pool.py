"""Pools: what lives across steps, carved at one alignment: constants once, and each sequence's state.

Enters: the schedules of a lane's forms (for their buffers). Leaves: a `PoolPlan` of either. Promise: the checker has
gone over it, so that parts share no byte and leave none but padding; whoever asks for a part as another length or fill
is refused; what was laid out for some forms lies there too when more have come.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from lane import _core
from lane.errors import LaneError
from lane.launch.table import ALIGNMENT_BYTES, ELEM_BYTES, Elem
from lane.models.step import MAX_CHUNK_ROWS
from lane.schedule.buffers import Buffer, Fill
from lane.schedule.schedule import Schedule

CHUNK_TOKENS = "tokens"  # the parameter that holds a chunk's tokens


class PoolError(LaneError):
    """A pool that does not hold together: forms that disagree, or parts that overlap."""


@dataclass(frozen=True, slots=True)
class PoolPart:
    """One buffer's bytes in the pool: `size_bytes` of them, and up to the alignment's multiple no one else's."""

    buffer: Buffer
    offset_bytes: int
    size_bytes: int


@dataclass(frozen=True)
class PoolPlan:
    """Where everything lies that lives across steps."""

    parts: tuple[PoolPart, ...]
    total_bytes: int

    @cached_property
    def _by_name(self) -> dict[str, PoolPart]:
        return {part.buffer.name: part for part in self.parts}

    def named(self, name: str) -> PoolPart:
        """The part of a buffer by its name."""
        return self._by_name[name]

    def offset(self, buffer: Buffer) -> int:
        """A buffer's offset; forms that disagree on a shared tensor are refused."""
        part = self._by_name.get(buffer.name)
        known = None if part is None else (part.buffer.elems, part.buffer.elem, part.buffer.fill)
        if part is None or known != (buffer.elems, buffer.elem, buffer.fill):
            raise PoolError(f"pool: shared tensor '{buffer}', allowed {'none' if part is None else part.buffer}")
        return part.offset_bytes

    def filled_bytes(self, *fills: Fill) -> int:
        """The bytes of all parts that are filled in one of these ways, padding included."""
        return sum(aligned_bytes(part.size_bytes) for part in self.parts if part.buffer.fill in fills)


def aligned_bytes(size_bytes: int) -> int:
    """The bytes that an array takes of the pool."""
    return -(-size_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def is_constant(buffer: Buffer) -> bool:
    """Whether a buffer holds values that the compiler computed."""
    return buffer.fill is Fill.CONSTANT and not buffer.is_matrix


def constant_buffers(schedules: Sequence[Schedule]) -> list[Buffer]:
    """The constants of these forms, in order of first use."""
    found = (buffer for schedule in schedules for buffer in schedule.buffers.values() if is_constant(buffer))
    return _first_of_each(found)


def state_buffers(schedules: Sequence[Schedule]) -> list[Buffer]:
    """What one sequence has for itself: carried state, parameters (a chunk's tokens too), the last row's logits.

    The decode form is the first.
    """
    decode = schedules[0]
    token = decode.buffers[decode.io.token].tensor
    tokens = Buffer(CHUNK_TOKENS, MAX_CHUNK_ROWS, Elem.I32, Fill.PARAM, True, False, token)
    kept = (Fill.PARAM, Fill.ZERO, Fill.COUNTER)
    logits = (buffer for buffer in decode.buffers.values() if buffer.fill is Fill.LOGITS)
    own, *others = ([b for b in schedule.buffers.values() if b.fill in kept] for schedule in schedules)
    return _first_of_each([*own, *logits, tokens, *chain.from_iterable(others)])


def _first_of_each(buffers: Iterable[Buffer]) -> list[Buffer]:
    first: dict[str, Buffer] = {}
    for buffer in buffers:
        first.setdefault(buffer.name, buffer)
    return list(first.values())


def lay_pool(buffers: Iterable[Buffer], known: PoolPlan | None = None) -> PoolPlan:
    """Carves buffers one after the other, as a start does; those of a known pool first, where they are."""
    before = () if known is None else tuple(part.buffer for part in known.parts)
    names = {buffer.name for buffer in before}
    kept = [*before, *(buffer for buffer in buffers if buffer.name not in names)]
    sizes = [buffer.elems * ELEM_BYTES[buffer.elem] for buffer in kept]
    total = sum(map(aligned_bytes, sizes))
    offsets = _core.carve_pool(sizes, total, ALIGNMENT_BYTES)
    plan = PoolPlan(tuple(map(PoolPart, kept, offsets, sizes)), total)
    findings = _core.check_pool(
        [(p.buffer.name, p.offset_bytes, p.size_bytes) for p in plan.parts], total, ALIGNMENT_BYTES
    )
    if findings:
        raise PoolError(f"pool: {len(findings)} findings of the checker: {findings[0].fault}: {findings[0].text}")
    return plan
