"""The base of every op: its tensors by role, its shape rule, its float64 meaning.

An op is a frozen dataclass whose tensor fields carry a role (`reads`, `writes`, `updates`); reads and writes derive
from them. `infer` is the shape rule: it rejects what the op cannot take and gives the output's shape. `compute` is the
meaning.
"""

from __future__ import annotations

import dataclasses
import enum
import typing
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from lane.errors import LaneError
from lane.graph.tensor import Tensor
from lane.launch.table import Elem

Array = npt.NDArray[np.float64]
Arrays = dict[str, npt.NDArray[Any]]
Tensors = Mapping[str, Tensor]
Shape = tuple[int, int]

# The roles of an op's tensor fields. A field's value is the tensor's name.
Reads = Annotated[str, "reads"]
Writes = Annotated[str, "writes"]  # computed whole
Updates = Annotated[str, "updates"]  # carried, read and written in place


def f64(array: npt.NDArray[Any]) -> Array:
    """Values in float64, copied only where they are something else."""
    return np.asarray(array, np.float64)


def vector(arrays: Arrays, name: str | None) -> Array | None:
    """A tensor of one row in float64; None of none."""
    return None if name is None else f64(arrays[name].reshape(-1))


class GraphError(LaneError):
    """A step graph that breaks its own rules: a fault of the family's file or of a pass, not of the user's."""


_FIELDS: dict[tuple[type[Op], str], tuple[str, ...]] = {}


def _fields(kind: type[Op], role: str) -> tuple[str, ...]:
    key = (kind, role)
    if key not in _FIELDS:
        hints = typing.get_type_hints(kind, include_extras=True)
        _FIELDS[key] = tuple(f.name for f in dataclasses.fields(kind) if role in _roles(hints[f.name]))
    return _FIELDS[key]


def _roles(hint: Any) -> tuple[Any, ...]:
    if typing.get_origin(hint) is Annotated:
        return tuple(typing.get_args(hint)[1:])
    return tuple(role for a in typing.get_args(hint) for role in _roles(a))


def _names(op: Op, role: str) -> tuple[str, ...]:
    found: list[str] = []
    for name in _fields(type(op), role):
        value = getattr(op, name)
        if isinstance(value, tuple):
            found += value
        elif value is not None:
            found.append(value)
    return tuple(found)


@dataclass(frozen=True)
class Op(ABC):
    """Base of every op kind."""

    kind: ClassVar[str]

    @abstractmethod
    def infer(self, tensors: Tensors) -> Shape | None:
        """The output's shape (rows, cols), None when the op has no output of its own; raises `GraphError`."""

    @abstractmethod
    def compute(self, arrays: Arrays) -> None:
        """The float64 meaning: reads and writes `arrays`, each rows × cols."""

    def read(self) -> tuple[str, ...]:
        """Names of the tensors read, updated ones included."""
        return self._read

    def written(self) -> tuple[str, ...]:
        """Names of the tensors written, updated ones included."""
        return self._written

    @cached_property
    def _read(self) -> tuple[str, ...]:
        return _names(self, "reads") + _names(self, "updates")

    @cached_property
    def _written(self) -> tuple[str, ...]:
        return _names(self, "writes") + _names(self, "updates")

    def output_elem(self) -> Elem:
        """The element type of the output."""
        return Elem.F32

    def need(self, holds: bool, what: str) -> None:
        """Rejects the op unless `holds`; `what` names the value found and the value allowed."""
        if not holds:
            raise GraphError(f"graph: op '{self.kind}' writing {', '.join(self.written())}: {what}")

    def __str__(self) -> str:
        shown = []
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if f.name in _fields(type(self), "writes") or value is None or value is False:
                continue
            if isinstance(value, enum.Enum):
                value = value.value
            elif isinstance(value, float):
                value = f"{value:.9g}"
            shown.append(f"{f.name}={value}")
        return f"{', '.join(self.written())} = {self.kind} {' '.join(shown)}"
