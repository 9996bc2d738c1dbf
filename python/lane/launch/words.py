"""A form as the runtime takes it: rows of its buffer table, and its launches as one stream of 64-bit words.

Enters: buffers and where their arrays lie; launches and the index of each buffer. Leaves: the rows that `table`
describes; for each launch its kind's number, the index of its scratch (-1: none) and its record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lane.launch.quantised import Component
from lane.launch.record import IndexOf, Launch
from lane.launch.registry import KIND_NUMBER
from lane.launch.table import COLUMNS, Elem, Space

_SPACE_NUMBER = {space: number for number, space in enumerate(Space)}
_ELEM_NUMBER = {elem: number for number, elem in enumerate(Elem)}
_ARRAYS = tuple(Component(column) for column in COLUMNS[3:])


def buffer_row(space: Space, elem: Elem, elems: int, places: Mapping[Component, int]) -> list[int]:
    """A buffer's row: `places` gives the offset of each array that it has, or the number of a matrix or an external."""
    if space is Space.MATRIX:
        places = {Component.PLAIN: places[Component.MATRIX]}
    return [_SPACE_NUMBER[space], _ELEM_NUMBER[elem], elems, *(places.get(array, -1) for array in _ARRAYS)]


def launch_words(launches: Iterable[tuple[Launch, str | None]], index_of: IndexOf) -> list[int]:
    """The words of launches, each with the name of the buffer that is its scratch."""
    words: list[int] = []
    for launch, scratch in launches:
        words += [KIND_NUMBER[type(launch)], -1 if scratch is None else index_of(scratch), *launch.encode(index_of)]
    return words
