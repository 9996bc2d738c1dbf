"""The launch record: one frozen dataclass a launch kind, everything else derived from its fields.

Enters: fields with roles, declared by the kinds. Leaves: what a launch reads and writes, in which storage and which
part of it; its flat record for the runtime; its dump line. Promise: a kind declares a field once, here it gains its
meaning, and nothing restates it.

A record is a list of 64-bit words in field order: a buffer is its index (-1: none), an integer or flag itself, a float
its bits, an enumeration its ordinal. What else may be absent is preceded by a flag; a list by its length; one of
several records by which it is; a record within another is its words.
"""

from __future__ import annotations

import dataclasses
import enum
import struct
import types
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from lane.launch.fields import (
    HALVES,
    Access,
    DestMode,
    Extent,
    Mode,
    Places,
    QuantStore,
    Region,
    Role,
    RowsAt,
    Storage,
    Units,
    unit_places,
)
from lane.launch.table import Elem

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int8]
I32 = npt.NDArray[np.int32]

IndexOf = Callable[[str], int]


class Numerics(enum.Enum):
    """How projections multiply (the three columns of the numerics table)."""

    PRECISE = "precise"
    INT8 = "int8"
    INT8X2 = "int8x2"


class Memory(Protocol):
    """What a kind's numpy definition runs on: named arrays (see `Launch.compute`)."""

    numerics: Numerics

    def plain(self, name: str) -> npt.NDArray[Any]:
        """The flat plain array of a tensor; writing to it writes the tensor."""

    def quantised(self, name: str) -> F64:
        """The values that the quantised form stands for (words times scales)."""

    def quantise(self, name: str, values: F32, start: int = 0) -> None:
        """Stores values from element `start` on in the tensor's quantised form."""

    def matrix(self, name: str) -> F64:
        """A matrix's dequantised values, rows × cols."""


# --- what a field is --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field as the record sees it.

    `type` is str (a buffer), int, bool, float, an enumeration or a record; `choices` holds the record types where it
    may be one of several. `option`: a launch may do without it; `default` is then its value.
    """

    name: str
    type: Any
    optional: bool  # may be None
    repeated: bool
    choices: tuple[Any, ...]
    role: Role | None
    option: bool
    default: Any

    @property
    def is_record(self) -> bool:
        """Whether its value is itself a record."""
        return bool(self.choices) or (isinstance(self.type, type) and issubclass(self.type, Record))

    @property
    def is_enum(self) -> bool:
        """Whether its value is one of an enumeration."""
        return isinstance(self.type, type) and issubclass(self.type, enum.Enum)

    def is_used(self, value: Any) -> bool:
        """Whether a launch makes use of this option."""
        return self.option and value != self.default


_SPECS: dict[type[Record], tuple[FieldSpec, ...]] = {}


def field_specs(kind: type[Record]) -> tuple[FieldSpec, ...]:
    """The fields of a record, in its order."""
    specs = _SPECS.get(kind)
    if specs is None:
        hints = typing.get_type_hints(kind, include_extras=True)
        specs = _SPECS[kind] = tuple(_field_spec(f, hints[f.name]) for f in dataclasses.fields(kind))
    return specs


def _field_spec(field: dataclasses.Field[Any], hint: Any) -> FieldSpec:
    members, optional = [hint], False
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        members = [a for a in typing.get_args(hint) if a is not type(None)]
        optional = len(members) < len(typing.get_args(hint))
    bare, role = members[0], None
    if typing.get_origin(bare) is Annotated:
        bare, role = typing.get_args(bare)
    repeated = typing.get_origin(bare) is tuple
    if repeated:
        bare = typing.get_args(bare)[0]
    has_default = field.default is not dataclasses.MISSING
    choices = tuple(members) if len(members) > 1 else ()
    default = field.default if has_default else None
    return FieldSpec(field.name, bare, optional, repeated, choices, role, optional or has_default, default)


@dataclass(frozen=True)
class Record:
    """Base of everything that has words: launches, and the records within them."""

    def encode(self, index_of: IndexOf) -> list[int]:
        """The words; `index_of` gives a buffer's index."""
        words: list[int] = []
        for spec in field_specs(type(self)):
            value = getattr(self, spec.name)
            if spec.repeated:
                words.append(len(value))
                for item in value:
                    words += item.encode(index_of)
            elif spec.optional and spec.type is not str:
                words += [0] if value is None else [1, *_encode(value, spec, index_of)]
            else:
                words += _encode(value, spec, index_of)
        return words

    def shown(self) -> Iterator[str]:
        """The fields as a dump shows them: all but absent and false ones."""
        for spec in field_specs(type(self)):
            value = getattr(self, spec.name)
            if value is None or value is False or value == ():
                continue
            yield spec.name if value is True else f"{spec.name}={_text(value)}"

    def __str__(self) -> str:
        return f"({' '.join(self.shown())})"


def _encode(value: Any, spec: FieldSpec, index_of: IndexOf) -> list[int]:
    if spec.choices:
        return [spec.choices.index(type(value)), *value.encode(index_of)]
    if spec.is_record:
        return list(value.encode(index_of))
    if spec.type is str:
        return [-1 if value is None else index_of(value)]
    if spec.type is float:
        return [int(struct.unpack("<q", struct.pack("<d", value))[0])]
    if spec.is_enum:
        return [list(spec.type).index(value)]
    return [int(value)]


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + " ".join(map(_text, value)) + "]"
    if isinstance(value, enum.Enum):
        return str(value.value)
    return f"{value:.9g}" if isinstance(value, float) else str(value)


# --- records that several kinds hold ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part(Record):
    """Where a launch finds its unit in a wider tensor: unit i starts at i * pitch + offset (in elements)."""

    pitch: int
    offset: int

    def places(self, units: Units) -> Places:
        """The element offsets of units: rows × per_row × width."""
        return unit_places(units, units.per_row * self.pitch, self.pitch, self.offset)

    def region(self, units: Units) -> Region:
        """The elements of units."""
        return Region(self.offset, units.width, self.pitch, units.rows * units.per_row)

    def __str__(self) -> str:
        return f"[*{self.pitch}+{self.offset}]"


@dataclass(frozen=True)
class Dest(Record):
    """Where a launch writes its units: a buffer; rows of a table from a row on; or a part of every unit.

    `index` names the i32 parameter that holds the first row (mode ROWS; none: the fixed `row`), `pitch` is the width of
    a row (of a unit, in mode PART) in elements, `offset` where in it the part starts. Of a table's row the part may
    again be one of every unit: `every` elements apart (0: side by side). In a batch each row has an index and a table
    of its own, `seq` elements after the one before it (0: one table).
    """

    buffer: str
    mode: DestMode = DestMode.WHOLE
    index: str | None = None
    row: int = 0
    pitch: int = 0
    offset: int = 0
    every: int = 0
    seq: int = 0

    def places(self, units: Units, memory: Memory) -> Places:
        """The element offsets of what is written: rows × per_row × width."""
        if self.mode is DestMode.WHOLE:
            return unit_places(units, units.per_row * units.width, units.width)
        if self.mode is DestMode.PART:
            return unit_places(units, units.per_row * self.pitch, self.pitch, self.offset)
        within = unit_places(Units(1, units.per_row, units.width), 0, self.every or units.width, self.offset)
        first = [self.row] if self.index is None else memory.plain(self.index).tolist()
        rows = np.arange(units.rows, dtype=np.int64)
        starts = (
            np.array(first[: units.rows]) * self.pitch + rows * self.seq if self.seq else (first[0] + rows) * self.pitch
        )
        return starts[:, None, None] + within

    def extent(self, units: Units) -> Extent | None:
        """The elements written; none: the first `units`, where they are the whole buffer."""
        if self.mode is DestMode.WHOLE:
            return None
        if self.mode is DestMode.PART:
            return Region(self.offset, units.width, self.pitch, units.rows * units.per_row)
        if self.index is not None or self.every or self.seq:
            return RowsAt(units.per_row * units.width, units.rows)
        return Region(self.row * self.pitch + self.offset, units.per_row * units.width, self.pitch, units.rows)

    def __str__(self) -> str:
        inner = f" +{self.offset}" if self.offset else ""
        inner += f" *{self.every}" if self.every else ""
        if self.mode is DestMode.WHOLE:
            return self.buffer
        if self.mode is DestMode.PART:
            return f"{self.buffer}[*{self.pitch}+{self.offset}]"
        where = f"{self.index or self.row}:"
        return f"{self.buffer}[{where}, {self.pitch}{inner}{f' seq {self.seq}' if self.seq else ''}]"


WriteTo = Annotated[Dest, Role(Mode.WRITE)]
WriteQuantTo = Annotated[Dest, Role(Mode.WRITE, quant="store_quant")]


# --- launches ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Launch(Record, ABC):
    """Base of every launch kind."""

    kind: ClassVar[str]

    @abstractmethod
    def compute(self, memory: Memory) -> None:
        """The kind's definition, in float64 over numpy arrays; results are stored in the tensor's element type."""

    @abstractmethod
    def operations(self, position: int | None = None) -> int:
        """Arithmetic operations (a multiply-add counts as two) of a step at `position` (none: the last that fits)."""

    def extent(self, field: str, of: Record) -> Extent | None:
        """The elements touched of the tensor that `field` of `of` (the launch, or a record in it) names; none: all."""
        del field, of
        return None

    def accesses(self) -> Iterator[Access]:
        """Every tensor touched, a position or index naming a row included, reads before writes."""
        late: list[Access] = []
        for access in self._accesses_of(self):
            if access.mode is Mode.READ:
                yield access
            else:
                late.append(access)
        yield from late

    def _accesses_of(self, record: Record) -> Iterator[Access]:
        for spec in field_specs(type(record)):
            value = getattr(record, spec.name)
            if value is None:
                continue
            if spec.role is not None:
                yield from self._role_accesses(record, spec.name, spec.role, value)
            elif spec.is_record:
                for item in value if spec.repeated else (value,):
                    yield from self._accesses_of(item)

    def _role_accesses(self, record: Record, field: str, role: Role, value: str | Dest) -> Iterator[Access]:
        elems = role.elems
        extent = self.extent(field, record)
        if isinstance(value, Dest):
            if value.index is not None:
                yield Access(value.index, Storage.PLAIN, Mode.READ, elems=(Elem.I32,))
            if value.mode is DestMode.ROWS:
                elems = (*elems, *HALVES)
            value = value.buffer
        for storage in self._storages(role):
            yield Access(value, storage, role.mode, extent, elems)

    def _storages(self, role: Role) -> tuple[Storage, ...]:
        if role.matrix:
            return (Storage.MATRIX,)
        if role.quant == "read_quant":
            return (Storage.QUANT,) if getattr(self, role.quant) else (Storage.PLAIN,)
        return stored(getattr(self, role.quant) if role.quant is not None else None)

    def __str__(self) -> str:
        return f"{self.kind} " + " ".join(self.shown())


def stored(quant: QuantStore | None) -> tuple[Storage, ...]:
    """In which storages a result is kept."""
    if quant is None:
        return (Storage.PLAIN,)
    return (Storage.QUANT,) if quant is QuantStore.ALONE else (Storage.PLAIN, Storage.QUANT)


def read_values(memory: Memory, name: str, n: int, quantised: bool = False) -> F64:
    """The first `n` values of a tensor, from its plain or its quantised form."""
    values = memory.quantised(name) if quantised else memory.plain(name)
    return np.asarray(values[:n], np.float64)


def read_units(memory: Memory, name: str, units: Units, part: Part | None, quantised: bool = False) -> F64:
    """Units of a tensor, rows × per_row × width: its first ones, or a part of each of a wider tensor's."""
    if part is None:
        return read_values(memory, name, units.elems, quantised).reshape(units.rows, units.per_row, units.width)
    assert not quantised, f"'{name}': a part of every unit is read plain"
    return np.asarray(memory.plain(name)[part.places(units)], np.float64)


def store_values(memory: Memory, name: str, values: F64, quant: QuantStore | None = None) -> None:
    """Stores values as a tensor's first ones, plain, quantised or both."""
    flat = values.reshape(-1)
    if quant is not QuantStore.ALONE:
        memory.plain(name)[: flat.size] = flat
    if quant is not None:
        memory.quantise(name, flat.astype(np.float32))


def store_units(memory: Memory, dest: Dest, values: F64, quant: QuantStore | None = None) -> None:
    """Stores units, rows × per_row × width, at a destination."""
    if dest.mode is DestMode.WHOLE:
        store_values(memory, dest.buffer, values, quant)
        return
    assert quant is None, f"'{dest}': a destination within a tensor takes plain values"
    memory.plain(dest.buffer)[dest.places(Units(*values.shape), memory)] = values
