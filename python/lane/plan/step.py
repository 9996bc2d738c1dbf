"""A schedule as the planners and the checker take it: arrays and byte spans, plain numbers.

Enters: a schedule. Leaves: a `Step` of `lane._core`, launch by launch as the schedule numbers them, and which array is
which of which buffer's. Promise: an access names exactly the bytes that the launch kind declares; a view's are
those of the tensor it lies in; a view itself, which does nothing, touches none.

A buffer has up to four arrays: its plain values, and of its quantised form the words, second words (int8x2) and scales.
A matrix is one array of its checkpoint rows. What launches have for themselves are arrays like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lane import _core
from lane.launch.data import View
from lane.launch.fields import Access, Mode, Region, Storage
from lane.launch.quantised import Component, component_bytes, components
from lane.plan.cost import LaunchCost
from lane.schedule.buffers import Buffer, Fill, ScheduleError
from lane.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes of an array: `count` runs of `width`, `pitch` apart, the first at `begin`."""

    begin: int
    width: int
    pitch: int = 0
    count: int = 1


_FREE = LaunchCost(0.0, 1.0)  # where nobody asks for times
_EFFECT = {
    Mode.READ: _core.Effect.READ,
    Mode.WRITE: _core.Effect.WRITE,
    Mode.UPDATE: _core.Effect.UPDATE,
}


class LoweredStep:
    """A schedule's step in numbers. `arrays` says of each array which buffer's it is, and which."""

    def __init__(self, schedule: Schedule, costs: Mapping[int, LaunchCost] | None = None) -> None:
        self.schedule = schedule
        self.step = _core.Step()
        self.arrays: list[tuple[Buffer, Component]] = []
        self.sizes_bytes: list[int] = []  # by array
        self._index: dict[tuple[str, Component], int] = {}
        self._touched: dict[tuple[str, Storage, Region | None], list[tuple[int, Span]]] = {}
        for number, item in enumerate(schedule.launches):
            cost = _FREE if costs is None else costs[number]
            accesses = [] if isinstance(item.launch, View) else list(item.launch.accesses())
            name = f"{item.launch.kind} {accesses[-1].name}" if accesses else item.launch.kind
            self.step.add_launch(name, cost.alone_us, cost.share)
            for access in item.accesses() if accesses else ():
                self._add_access(number, access)

    def _add_access(self, number: int, access: Access) -> None:
        fixed = access.extent if isinstance(access.extent, Region) else None
        key = (access.name, access.storage, fixed)
        if key not in self._touched:
            self._touched[key] = list(self._find_touched(access, fixed))
        somewhere = access.extent is not None and fixed is None
        effect = self._somewhere(number, access) if somewhere and access.mode is Mode.WRITE else _EFFECT[access.mode]
        for array, span in self._touched[key]:
            self.step.add_access(number, array, effect, span.begin, span.width, span.pitch, span.count)

    def _find_touched(self, access: Access, region: Region | None) -> Iterator[tuple[int, Span]]:
        """The bytes of one storage of a buffer, array by array; where a row is not known before, all of them."""
        buffer, base = self.schedule.buffers[access.name], self._base(access.name)
        for component in components(access.storage, self.schedule.numerics):
            array = self._array(base, component)
            if buffer is base and region is None:
                yield array, Span(0, self.sizes_bytes[array])
            else:
                touched = region or Region(0, buffer.elems)
                yield array, component_span(touched, buffer.offset, base, component)

    def _somewhere(self, number: int, access: Access) -> _core.Effect:
        """Rows of a tensor that is there before the step: written somewhere in it, the rest kept."""
        base = self._base(access.name)
        if base.is_step_local:
            raise ScheduleError(
                f"plan: launch {number} '{self.schedule.launches[number].launch}': rows of step-local '{base.name}' "
                f"that are known only as it runs, allowed rows at a fixed place"
            )
        return _core.Effect.UPDATE

    def _base(self, name: str) -> Buffer:
        """The tensor that a buffer lies in: its own, unless it is a view."""
        buffer = self.schedule.buffers[name]
        return buffer if buffer.base is None else self.schedule.buffers[buffer.base]

    def _array(self, buffer: Buffer, component: Component) -> int:
        key = (buffer.name, component)
        if key not in self._index:
            size_bytes = array_bytes(buffer, component)
            self._index[key] = self.step.add_array(
                f"{buffer.name} {component.value}",
                size_bytes,
                _core.Space.ARENA if buffer.is_step_local else _core.Space.OUTSIDE,
                holds_values=not (buffer.is_step_local or buffer.fill is Fill.LOGITS),
                read_only=buffer.fill is Fill.CONSTANT,
            )
            self.arrays.append((buffer, component))
            self.sizes_bytes.append(size_bytes)
        return self._index[key]


def array_bytes(buffer: Buffer, component: Component) -> int:
    """The bytes of one array of a buffer."""
    if buffer.rows is not None:
        return buffer.rows.size_bytes
    return component_bytes(component, buffer.elems, buffer.elem)


def places_of(buffer: Buffer, base: Mapping[Component, int]) -> dict[Component, int]:
    """Where a buffer's arrays begin, given where those of the tensor that it lies in do (its own, unless a view)."""
    return {array: at + component_bytes(array, buffer.offset, buffer.elem) for array, at in base.items() if at >= 0}


def component_span(region: Region, offset: int, base: Buffer, component: Component) -> Span:
    """The bytes of a region of the values from element `offset` on, in an array of the tensor that they lie in."""
    begin, width, pitch = (
        component_bytes(component, elems, base.elem) for elems in (offset + region.begin, region.width, region.pitch)
    )
    if region.count == 1 or pitch == width:
        return Span(begin, width * region.count)
    return Span(begin, width, pitch, region.count)
