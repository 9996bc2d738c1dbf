"""The launch record: one frozen dataclass a launch kind, everything else derived from its fields.

Enters: field roles declared by the kinds. Leaves: what a launch reads and writes and in which form, its flat record for
the runtime, its dump line. Promise: a kind declares a field once, here it gains its role, and nothing restates it.

A record is a list of 64-bit words in field order: a buffer is its index (-1: none), an integer or flag itself, a float
its bits, an enumeration its ordinal, a `Part` two words, a `Dest` six.
"""

from __future__ import annotations

import dataclasses
import enum
import struct
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int8]
I32 = npt.NDArray[np.int32]

QUANT_BLOCK_ELEMS = 32  # values that share one scale in the quantised form of an activation
SUM_BLOCK_ELEMS = 16  # values that share one stored sum of words: what formats with minima multiply


class Numerics(enum.Enum):
    """How projections multiply (the three columns of the numerics table)."""

    PRECISE = "precise"
    INT8 = "int8"
    INT8X2 = "int8x2"


class Form(enum.Enum):
    """In which form a launch touches a tensor."""

    PLAIN = "plain"
    QUANT = "quant"
    MATRIX = "matrix"  # checkpoint rows, read in place


class Mode(enum.Enum):
    """How much of a tensor an access covers, and which way."""

    READ = "read"
    READ_ROWS = "read_rows"  # rows of a table
    WRITE = "write"  # the whole tensor
    WRITE_PART = "write_part"  # a part of every unit
    WRITE_ROWS = "write_rows"  # rows of a table
    UPDATE = "update"  # read and written in place


@dataclass(frozen=True, slots=True)
class Access:
    """One tensor touched by one launch."""

    name: str
    form: Form
    mode: Mode


@dataclass(frozen=True, slots=True)
class Part:
    """Where a launch finds its unit in a wider tensor: unit i starts at i * pitch + offset (in elements)."""

    pitch: int
    offset: int

    def __str__(self) -> str:
        return f"[*{self.pitch}+{self.offset}]"


class DestMode(enum.Enum):
    """What a destination is."""

    WHOLE = "whole"
    ROWS = "rows"
    PART = "part"


@dataclass(frozen=True, slots=True)
class Dest:
    """Where a launch writes: a buffer; rows of a table from a row; or a part of every unit.

    `index` names the i32 parameter that holds the first row (mode ROWS; none: the fixed `row`), `pitch` is a row's (or
    unit's) width in elements, `offset` where in the unit the part starts.
    """

    buffer: str
    mode: DestMode = DestMode.WHOLE
    index: str | None = None
    row: int = 0
    pitch: int = 0
    offset: int = 0

    def __str__(self) -> str:
        if self.mode is DestMode.WHOLE:
            return self.buffer
        if self.mode is DestMode.PART:
            return f"{self.buffer}[*{self.pitch}+{self.offset}]"
        return f"{self.buffer}[{self.index or self.row}:, {self.pitch}]"


# The roles of tensor fields. A field's value is the tensor's name.
Read = Annotated[str, "read"]  # read in its plain form unless the kind says otherwise
ReadRows = Annotated[str, "read_rows"]  # a table, of which the step's rows are read
Write = Annotated[str, "write"]  # written whole
WriteTo = Annotated[Dest, "write"]  # written where the destination says
Touch = Annotated[str, "touch"]  # updated in place
Matrix = Annotated[str, "matrix"]  # checkpoint rows in their format


class Memory(Protocol):
    """What a kind's numpy definition runs on: named arrays in their forms (see `Launch.compute`)."""

    numerics: Numerics

    def plain(self, name: str) -> npt.NDArray[Any]:
        """The flat plain array of a tensor; writing to it writes the tensor."""

    def quantised(self, name: str) -> F64:
        """The values that the quantised form stands for (words times scales)."""

    def matrix(self, name: str) -> F64:
        """A matrix's dequantised values, rows × cols."""


_WORDS: Mapping[Any, tuple[str, ...]] = {
    str: ("buffer",),
    int: ("int",),
    bool: ("int",),
    float: ("float",),
    Part: ("int", "int"),
    Dest: ("buffer", "int", "buffer", "int", "int", "int"),
}


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field of a kind as the record sees it."""

    name: str
    type: Any  # str, int, bool, float, Part, Dest or an Enum class
    optional: bool
    role: str | None


_SPECS: dict[type[Launch], tuple[FieldSpec, ...]] = {}


def field_specs(kind: type[Launch]) -> tuple[FieldSpec, ...]:
    """The fields of a kind, in record order."""
    specs = _SPECS.get(kind)
    if specs is None:
        specs = _SPECS[kind] = _find_specs(kind)
    return specs


def _find_specs(kind: type[Launch]) -> tuple[FieldSpec, ...]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return tuple(_field_spec(f.name, hints[f.name]) for f in dataclasses.fields(kind))


def _field_spec(name: str, hint: Any) -> FieldSpec:
    union = [a for a in typing.get_args(hint) if a is not type(None)] if _is_optional(hint) else []
    bare = union[0] if union else hint
    role = None
    if typing.get_origin(bare) is Annotated:
        bare, role = typing.get_args(bare)
    return FieldSpec(name, bare, bool(union), role)


def _is_optional(hint: Any) -> bool:
    return typing.get_origin(hint) is not Annotated and type(None) in typing.get_args(hint)


def _float_word(value: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def _encode(value: Any, spec: FieldSpec, index_of: Callable[[str], int]) -> list[int]:
    if spec.type is str:
        return [-1 if value is None else index_of(value)]
    if spec.type is Part:
        return [0, 0] if value is None else [value.pitch, value.offset]
    if spec.type is Dest:
        index = -1 if value.index is None else index_of(value.index)
        mode = list(DestMode).index(value.mode)
        return [index_of(value.buffer), mode, index, value.row, value.pitch, value.offset]
    if spec.type is float:
        return [_float_word(value)]
    if isinstance(value, enum.Enum):
        return [list(spec.type).index(value)]
    return [int(value)]


@dataclass(frozen=True)
class Launch(ABC):
    """Base of every launch kind."""

    kind: ClassVar[str]

    @abstractmethod
    def compute(self, memory: Memory) -> None:
        """The kind's definition, in float64 over numpy arrays; results are stored in the tensor's element type."""

    @abstractmethod
    def operations(self) -> int:
        """Arithmetic operations done (a multiply-add counts as two)."""

    def form_read(self, field: str) -> Form:
        """In which form the launch reads the tensor of a field."""
        return Form.PLAIN

    def accesses(self) -> Iterator[Access]:
        """Every tensor touched, a position or index naming a row included, reads before writes."""
        late: list[Access] = []
        for spec in field_specs(type(self)):
            value = getattr(self, spec.name)
            if spec.role is None or value is None:
                continue
            if spec.role == "read":
                yield Access(value, self.form_read(spec.name), Mode.READ)
            elif spec.role == "read_rows":
                yield Access(value, Form.PLAIN, Mode.READ_ROWS)
            elif spec.role == "matrix":
                yield Access(value, Form.MATRIX, Mode.READ)
            elif spec.role == "touch":
                late.append(Access(value, Form.PLAIN, Mode.UPDATE))
            elif isinstance(value, Dest):
                if value.index is not None:
                    yield Access(value.index, Form.PLAIN, Mode.READ)
                late.append(Access(value.buffer, Form.PLAIN, _DEST_ACCESS[value.mode]))
            else:
                late.append(Access(value, self.form_written(spec.name), Mode.WRITE))
        yield from late

    def form_written(self, field: str) -> Form:
        """In which form the launch writes the tensor of a field."""
        return Form.PLAIN

    def encode(self, index_of: Callable[[str], int]) -> list[int]:
        """The flat record, without its kind; `index_of` gives a buffer's index."""
        words: list[int] = []
        for spec in field_specs(type(self)):
            words += _encode(getattr(self, spec.name), spec, index_of)
        return words

    def __str__(self) -> str:
        return f"{self.kind} " + " ".join(_shown(self))


_DEST_ACCESS = {
    DestMode.WHOLE: Mode.WRITE,
    DestMode.ROWS: Mode.WRITE_ROWS,
    DestMode.PART: Mode.WRITE_PART,
}


def _shown(launch: Launch) -> Iterator[str]:
    for spec in field_specs(type(launch)):
        value = getattr(launch, spec.name)
        if value is None or value is False:
            continue
        if value is True:
            yield spec.name
        elif isinstance(value, enum.Enum):
            yield f"{spec.name}={value.value}"
        elif isinstance(value, float):
            yield f"{spec.name}={value:.9g}"
        else:
            yield f"{spec.name}={value}"


def word_kinds(spec: FieldSpec) -> tuple[str, ...]:
    """The word types a field takes in the record."""
    if isinstance(spec.type, type) and issubclass(spec.type, enum.Enum):
        return ("int",)
    return _WORDS[spec.type]
