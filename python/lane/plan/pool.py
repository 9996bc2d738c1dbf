"""The pool: what lives across steps, carved at one alignment.

Enters: a decode form's schedule (for its buffers). Leaves: a `PoolPlan`. Promise: the checker has gone over it, so that
parts share no byte and leave none but padding; whoever asks for a part as another length or fill is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from lane import _core
from lane.errors import LaneError
from lane.launch.table import ALIGNMENT_BYTES, ELEM_BYTES, Elem
from lane.models.step import MAX_CHUNK_ROWS
from lane.schedule.buffers import Buffer, Fill
from lane.schedule.schedule import Schedule


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


def shared_buffers(decode: Schedule) -> list[Buffer]:
    """The buffers that live across steps: those of the decode form, and the chunks' tokens."""
    kept = (Fill.PARAM, Fill.ZERO, Fill.CONSTANT, Fill.LOGITS)
    shared = [buffer for buffer in decode.buffers.values() if not buffer.is_matrix and buffer.fill in kept]
    token = decode.buffers[decode.io.token].tensor
    return [*shared, Buffer("tokens", MAX_CHUNK_ROWS, Elem.I32, Fill.PARAM, True, False, token)]


def lay_pool(buffers: Iterable[Buffer]) -> PoolPlan:
    """Carves buffers one after the other, as a start does."""
    kept = list(buffers)
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
