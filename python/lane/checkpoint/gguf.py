"""A GGUF checkpoint, typed.

In: the path of a file, or of the first of the files that a checkpoint was split into. Out: a `Checkpoint`:
metadata that becomes Python values when it is asked for, tensor records, and tensor bytes as views of the
mapped file. The file itself is not trusted: the C++ reader (cpp/runtime/gguf_part.h) has checked all that is
handed out here. What this module adds is that a value has the kind and range that its reader expects, or is
refused by its key.
"""

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from lane import _core
from lane.errors import CheckpointError

T = TypeVar("T")

ArrayKind = Literal["u32", "i32", "f32", "bool"]

_INTEGERS = frozenset({"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"})
_FLOATS = frozenset({"f32", "f64"})
_BOOLS = frozenset({"bool"})
_STRINGS = frozenset({"string"})
# Of the kinds of array that can be asked for: the result's type, and the kinds that it may be stored as.
_ARRAY_KINDS: dict[str, tuple[type[np.generic], frozenset[str]]] = {
    "u32": (np.uint32, _INTEGERS),
    "i32": (np.int32, _INTEGERS),
    "f32": (np.float32, _FLOATS),
    "bool": (np.bool_, _BOOLS),
}
_INTEGER_RANGES = {"u32": (0, 2**32 - 1), "i32": (-(2**31), 2**31 - 1)}


@dataclass(frozen=True)
class TensorInfo:
    """A tensor's record.

    `shape` has the innermost dimension first, as the file does: a matrix that maps `cols` inputs to `rows`
    outputs is (cols, rows), stored row after row. `offset` counts from the start of the data section of file
    `part`.
    """

    name: str
    shape: tuple[int, ...]
    type: str
    offset: int
    bytes: int
    part: int


class StringTable(NamedTuple):
    """Strings end to end in `blob`, as UTF-8: the i-th is blob[offsets[i] : offsets[i + 1]]."""

    blob: bytes
    offsets: NDArray[np.int64]


class Identity(NamedTuple):
    """What tells checkpoints apart: each file's size, and the SHA-256 of all before the data sections."""

    part_bytes: tuple[int, ...]
    head_sha256: str


class Metadata(Mapping[str, object]):
    """Key to value: int, float, bool or str; a numpy array; a list of str. A look-up makes the value anew."""

    def __init__(self, file: _core.GgufFile) -> None:
        self._file = file
        self._keys = dict.fromkeys(file.keys())

    def __getitem__(self, key: str) -> object:
        value: object = self._file.get(key)
        return value

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def kind(self, key: str) -> tuple[str, int | None]:
        """A value's kind, as "u32" or "string", and None; an array's elements' kind, and their number."""
        return self._file.kind(key)


class Checkpoint:
    """An open checkpoint. Views of its data keep it open."""

    def __init__(self, path: Path, file: _core.GgufFile) -> None:
        self._path = path
        # In messages: a path may hold bytes that are not text.
        self._shown = os.fsencode(path).decode(errors="backslashreplace")
        self._file = file
        self._metadata = Metadata(file)
        self._tensors = MappingProxyType({record[0]: TensorInfo(*record) for record in file.tensors()})

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Checkpoint":
        """Maps the file, and with the first of a split checkpoint's files all others.

        Raises:
            UsageError: the path cannot be opened, or is a later file of a split checkpoint.
            CheckpointError: a file is malformed.
            UnsupportedError: a file is of another version or byte order, or has a tensor of an unknown type.
        """
        return cls(Path(path), _core.GgufFile(os.fsencode(path)))

    @property
    def path(self) -> Path:
        """As it was given."""
        return self._path

    @property
    def file(self) -> _core.GgufFile:
        """The reader itself, for the C++ half, which finds a tensor by its place in `tensors`."""
        return self._file

    @property
    def version(self) -> int:
        """Of the GGUF format: 2 or 3."""
        return self._file.version

    @property
    def parts(self) -> tuple[Path, ...]:
        """The files, in order."""
        return tuple(Path(os.fsdecode(part)) for part in self._file.parts)

    @property
    def bytes(self) -> int:
        """Of all files, as they were opened: where their names lead by now makes no difference."""
        return sum(self._file.part_bytes)

    @property
    def metadata(self) -> Metadata:
        return self._metadata

    @property
    def tensors(self) -> Mapping[str, TensorInfo]:
        """By name, in the file's order."""
        return self._tensors

    @property
    def architecture(self) -> str:
        return self.str_("general.architecture")

    def identity(self) -> Identity:
        part_bytes, digest = self._file.identity()
        return Identity(tuple(part_bytes), digest)

    def prefetch(self) -> None:
        """Starts reading the weights from disk in the background."""
        self._file.prefetch()

    def require_whole(self) -> None:
        """CheckpointError if a file was cut short while it was in use: what was lost of it reads as zeros.

        Every look-up here asks; whoever reads `data` asks afterwards.
        """
        self._file.require_whole()

    def data(self, name: str) -> NDArray[np.uint8]:
        """A tensor's bytes as the file holds them: a read-only view, which keeps the file mapped."""
        if name not in self._tensors:
            raise CheckpointError(f'checkpoint: "{self._shown}": tensor "{name}" is missing')
        return self._file.tensor_data(name)

    # The typed look-ups. Each raises CheckpointError, naming the key, for a value of another kind or range,
    # and for a missing key unless it has a default. A whole number may be stored as any integer kind.

    def u32(self, key: str, default: int | None = None) -> int:
        """A whole number, 0 to 2^32 - 1."""
        return self._scalar(key, default, int, _INTEGERS, lambda n: 0 <= n < 2**32, "a whole number, 0 to 2^32 - 1")

    def f32(self, key: str, default: float | None = None) -> float:
        """A finite number."""
        return self._scalar(key, default, float, _FLOATS, math.isfinite, "a finite f32 or f64")

    def bool_(self, key: str, default: bool | None = None) -> bool:
        return self._scalar(key, default, bool, _BOOLS, lambda _: True, "a bool")

    def str_(self, key: str, default: str | None = None) -> str:
        return self._scalar(key, default, str, _STRINGS, lambda _: True, "a string")

    def array(self, key: str, kind: ArrayKind, length: int | None = None) -> NDArray[Any]:
        """An array of numbers as `kind`: 1-D, of exactly `length` elements if that is given.

        It may be stored as any integer kind if all elements are in the range of `kind`, or as f32 or f64.
        """
        dtype, stored = _ARRAY_KINDS[kind]
        self._check_array(key, stored, length, kind)
        values = self._metadata[key]
        assert isinstance(values, np.ndarray)
        if kind in _INTEGER_RANGES:
            low, high = _INTEGER_RANGES[kind]
            outside = values[(values < low) | (values > high)]
            if outside.size > 0:
                raise self._refusal(key, f"an array that holds {outside[0]}", f"elements from {low} to {high}")
        return values.astype(dtype, copy=False)

    def strings(self, key: str, length: int | None = None) -> list[str]:
        """An array of strings. `string_table` is several times faster where they need not be Python's."""
        self._check_array(key, _STRINGS, length, "string")
        values = self._metadata[key]
        assert isinstance(values, list)
        return values

    def string_table(self, key: str, length: int | None = None) -> StringTable:
        """An array of strings, without an object for each."""
        self._check_array(key, _STRINGS, length, "string")
        return StringTable(*self._file.string_table(key))

    def _scalar(
        self,
        key: str,
        default: T | None,
        of: type[T],
        kinds: frozenset[str],
        fits: Callable[[T], bool],
        allowed: str,
    ) -> T:
        if key not in self._metadata:
            if default is None:
                raise self._refusal(key, "missing", allowed)
            return default
        kind, count = self._metadata.kind(key)
        if count is not None or kind not in kinds:
            raise self._refusal(key, self._kind_text(key), allowed)
        value = self._metadata[key]
        assert isinstance(value, of)
        if not fits(value):
            raise self._refusal(key, f"{kind} {value}", allowed)
        return value

    def _check_array(self, key: str, kinds: frozenset[str], length: int | None, kind: str) -> None:
        allowed = f"an array of {'' if length is None else f'{length} '}{kind}"
        if key not in self._metadata:
            raise self._refusal(key, "missing", allowed)
        stored, count = self._metadata.kind(key)
        if count is None or stored not in kinds or (length is not None and count != length):
            raise self._refusal(key, self._kind_text(key), allowed)

    def _kind_text(self, key: str) -> str:
        kind, count = self._metadata.kind(key)
        return f"a {kind}" if count is None else f"an array of {count} {kind}"

    def _refusal(self, key: str, found: str, allowed: str) -> CheckpointError:
        return CheckpointError(f'checkpoint: "{self._shown}": key "{key}": value is {found}; allowed: {allowed}')
