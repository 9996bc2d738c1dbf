"""GGUF files byte by byte, right or wrong.

In: metadata and tensors as plain values, any of which may be one that no writer would write. Out: the file's
bytes, and for each of its fields where it lies and what it is called.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

KINDS = {
    "u8": 0,
    "i8": 1,
    "u16": 2,
    "i16": 3,
    "u32": 4,
    "i32": 5,
    "f32": 6,
    "bool": 7,
    "string": 8,
    "array": 9,
    "u64": 10,
    "i64": 11,
    "f64": 12,
}
FORMATS = {
    "u8": "<B",
    "i8": "<b",
    "u16": "<H",
    "i16": "<h",
    "u32": "<I",
    "i32": "<i",
    "f32": "<f",
    "bool": "<B",
    "u64": "<Q",
    "i64": "<q",
    "f64": "<d",
}
NUMBERS = tuple(FORMATS)


def number(kind: str, value: float) -> bytes:
    return struct.pack(FORMATS[kind], value)


def string(text: bytes, length: int | None = None) -> bytes:
    return struct.pack("<Q", len(text) if length is None else length) + text


def element(kind: str, value: object) -> bytes:
    if kind == "string":
        assert isinstance(value, bytes)
        return string(value)
    assert isinstance(value, int | float)
    return number(kind, value)


class Span(NamedTuple):
    """A field: bytes start to end, half-open; the object that it belongs to and its name, as in messages."""

    start: int
    end: int
    place: str
    field: str


@dataclass
class Entry:
    """A metadata entry. `value` is the value's bytes; with `element_kind` those of an array's elements."""

    key: bytes
    kind: int
    value: bytes
    element_kind: int | None = None
    count: int = 0
    key_length: int | None = None


def scalar(key: str, kind: str, value: object) -> Entry:
    return Entry(key.encode(), KINDS[kind], element(kind, value))


def array(key: str, kind: str, values: Sequence[object], count: int | None = None) -> Entry:
    elements = b"".join(element(kind, value) for value in values)
    return Entry(key.encode(), KINDS["array"], elements, KINDS[kind], len(values) if count is None else count)


@dataclass
class Tensor:
    """A tensor of type F32 unless said otherwise, at `offset` in the data section."""

    name: bytes
    dims: Sequence[int] = (8,)
    type_id: int = 0
    offset: int = 0
    n_dims: int | None = None
    name_length: int | None = None


@dataclass
class File:
    """A whole file; unset counts are the true ones."""

    entries: Sequence[Entry] = ()
    tensors: Sequence[Tensor] = ()
    data: bytes = b""
    magic: bytes = b"GGUF"
    version: int = 3
    tensor_count: int | None = None
    entry_count: int | None = None
    alignment: int = 32
    spans: list[Span] = field(default_factory=list)

    def build(self) -> bytes:
        """The bytes; `spans` are then those of all fields before the data section."""
        self.spans = []
        self._out = bytearray()
        self._add("header", "magic", self.magic)
        self._add("header", "version", struct.pack("<I", self.version))
        tensor_count = len(self.tensors) if self.tensor_count is None else self.tensor_count
        entry_count = len(self.entries) if self.entry_count is None else self.entry_count
        self._add("header", "tensor count", struct.pack("<Q", tensor_count))
        self._add("header", "metadata count", struct.pack("<Q", entry_count))
        for i, entry in enumerate(self.entries):
            self._add_entry(i, entry)
        for i, tensor in enumerate(self.tensors):
            self._add_tensor(i, tensor)
        if self.data:
            self._out += bytes(-len(self._out) % self.alignment)
        return bytes(self._out) + self.data

    def _add(self, place: str, name: str, data: bytes) -> None:
        self.spans.append(Span(len(self._out), len(self._out) + len(data), place, name))
        self._out += data

    def _add_entry(self, index: int, entry: Entry) -> None:
        unnamed = f"metadata entry {index}"
        self._add(unnamed, "key", string(entry.key, entry.key_length))
        place = f'key "{entry.key.decode(errors="replace")}"'
        self._add(place, "kind", struct.pack("<I", entry.kind))
        if entry.element_kind is not None:
            self._add(place, "element kind", struct.pack("<I", entry.element_kind))
            self._add(place, "element count", struct.pack("<Q", entry.count))
        of_strings = KINDS["string"] in (entry.kind, entry.element_kind)
        self._add(place, "string" if of_strings else "value", entry.value)

    def _add_tensor(self, index: int, tensor: Tensor) -> None:
        self._add(f"tensor entry {index}", "name", string(tensor.name, tensor.name_length))
        place = f'tensor "{tensor.name.decode(errors="replace")}"'
        n_dims = len(tensor.dims) if tensor.n_dims is None else tensor.n_dims
        self._add(place, "dimension count", struct.pack("<I", n_dims))
        for dim in tensor.dims:
            self._add(place, "dimension", struct.pack("<Q", dim))
        self._add(place, "type", struct.pack("<I", tensor.type_id))
        self._add(place, "offset", struct.pack("<Q", tensor.offset))
