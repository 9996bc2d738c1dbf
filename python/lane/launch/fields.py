"""What a launch's tensor fields say: roles, places within a tensor, and the accesses that follow from them.

Enters: nothing. Leaves: the vocabulary of the kinds' declarations. Promise: an access covers exactly the elements that
its extent names; where a row is known only as the step runs, so much of the table as it can be.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from lane.launch.table import Elem

HALVES = (Elem.F16, Elem.BF16)  # 16-bit stores of caches and memories: read widened, written rounded to nearest


class Storage(enum.Enum):
    """How the values that a launch touches are stored."""

    PLAIN = "plain"
    QUANT = "quant"
    MATRIX = "matrix"  # checkpoint rows, read in place


STORED = (Storage.PLAIN, Storage.QUANT)  # what a buffer that is no matrix may have


class QuantStore(enum.Enum):
    """How a launch that quantises in its own store keeps its result."""

    BESIDE = "beside"  # plain too
    ALONE = "alone"


class Mode(enum.Enum):
    """Which way an access goes."""

    READ = "read"
    WRITE = "write"
    UPDATE = "update"  # read and written in place


# --- extents: which elements of a tensor ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Region:
    """`count` runs of `width` elements, `pitch` apart, the first at `begin`."""

    begin: int
    width: int
    pitch: int = 0
    count: int = 1

    def elems(self, position: int | None) -> int:
        """How many elements that is."""
        del position
        return self.width * self.count


@dataclass(frozen=True, slots=True)
class RowsAt:
    """`count` rows of `width` elements, wherever an index or a position says."""

    width: int
    count: int

    def elems(self, position: int | None) -> int:
        """How many elements that is."""
        del position
        return self.width * self.count


@dataclass(frozen=True, slots=True)
class RowsSeen:
    """The rows of a cache that `rows` rows from a position on look at: those up to each, `window` at most (0: all).

    `width` elements are read of each of its `len` rows; `sequences` caches are read by a row each.
    """

    width: int
    rows: int
    len: int
    window: int = 0
    sequences: int = 1

    def elems(self, position: int | None) -> int:
        """How many elements that is for a step at `position` (none: the last that fits), each once."""
        start = self.len - self.rows if position is None else position
        end = min(start + self.rows, self.len)
        first = max(0, start + 1 - self.window) if self.window else 0
        return self.width * (end - first) * self.sequences


Extent = Region | RowsAt | RowsSeen


@dataclass(frozen=True, slots=True)
class Access:
    """One tensor touched by one launch. No extent: all of it. `elems` are the element types that it may have."""

    name: str
    storage: Storage
    mode: Mode
    extent: Extent | None = None
    elems: tuple[Elem, ...] = (Elem.F32,)


# --- places: where in a tensor a launch finds or leaves its units -----------------------------------------------------


class DestMode(enum.Enum):
    """What a destination is."""

    WHOLE = "whole"
    ROWS = "rows"
    PART = "part"


@dataclass(frozen=True, slots=True)
class Units:
    """What a launch writes: `rows` rows of `per_row` units of `width` elements."""

    rows: int
    per_row: int
    width: int

    @property
    def elems(self) -> int:
        """Elements of all of them."""
        return self.rows * self.per_row * self.width


Places = npt.NDArray[np.int64]


def unit_places(units: Units, row_pitch: int, unit_pitch: int, begin: int = 0) -> Places:
    """The element offsets of units: rows × per_row × width."""
    rows, heads, values = np.arange(units.rows), np.arange(units.per_row), np.arange(units.width)
    return begin + rows[:, None, None] * row_pitch + heads[:, None] * unit_pitch + values


# --- roles: a tensor field's value is the tensor's name ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Role:
    """What a launch does with the tensor of a field, and which element types it may have there.

    `quant` names the launch's own field that says whether it is touched quantised: `read_quant` or `store_quant`.
    """

    mode: Mode
    elems: tuple[Elem, ...] = (Elem.F32,)
    matrix: bool = False
    quant: str | None = None


Read = Annotated[str, Role(Mode.READ)]
ReadQuant = Annotated[str, Role(Mode.READ, quant="read_quant")]  # plain, or quantised
ReadIndex = Annotated[str, Role(Mode.READ, (Elem.I32,))]  # positions, tokens
ReadHalf = Annotated[str, Role(Mode.READ, (Elem.F32, *HALVES))]  # what may be kept in 16 bits
ReadAny = Annotated[str, Role(Mode.READ, tuple(Elem))]
Write = Annotated[str, Role(Mode.WRITE)]
WriteQuant = Annotated[str, Role(Mode.WRITE, quant="store_quant")]  # plain, quantised or both
WriteRows = Annotated[str, Role(Mode.WRITE, (Elem.F32, *HALVES), quant="store_quant")]  # rows of a table
WriteAny = Annotated[str, Role(Mode.WRITE, tuple(Elem))]
Touch = Annotated[str, Role(Mode.UPDATE)]
TouchIndex = Annotated[str, Role(Mode.UPDATE, (Elem.I32,))]
Matrix = Annotated[str, Role(Mode.READ, matrix=True)]  # checkpoint rows in their format
