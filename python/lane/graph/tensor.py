"""Tensors of a step graph: a name, a shape, a role, an element type and, for constants, where the values come from."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from lane.launch.record import F32
from lane.launch.table import Elem
from lane.quant.registry import format_named


class Role(enum.Enum):
    """What a tensor is to the step."""

    PARAM = "param"  # a run-time input: tokens, position
    CONSTANT = "constant"  # from the checkpoint, or computed by the compiler
    STATE = "state"  # carried across steps
    ACTIVATION = "activation"  # computed by the step


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive rows of a matrix in the checkpoint: `rows` of tensor `tensor` from its row `first` on."""

    tensor: str
    first: int
    rows: int


@dataclass(frozen=True, slots=True)
class Rows:
    """A matrix kept in its checkpoint format, made up of runs of the file in row order.

    Two tensors with equal placements are one matrix (tied embeddings).
    """

    format: str
    rows: int
    cols: int
    runs: tuple[Run, ...]

    @property
    def row_bytes(self) -> int:
        """The checkpoint's bytes of one row."""
        return format_named(self.format).bytes_of(self.cols)

    @property
    def size_bytes(self) -> int:
        """The checkpoint's bytes of all rows."""
        return self.rows * self.row_bytes


class Values:
    """f32 values that the compiler computes, rows × cols; they go to the sidecar.

    They are made when somebody first asks for them: a tensor has its shape before, so that planning needs none.
    """

    def __init__(self, make: Callable[[], F32]) -> None:
        self._make = make

    @cached_property
    def array(self) -> F32:
        """The values."""
        return self._make()


Placement = Rows | Values


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A named rows × cols array of the step."""

    name: str
    rows: int
    cols: int
    role: Role
    elem: Elem = Elem.F32
    placement: Placement | None = None

    @property
    def elems(self) -> int:
        """Number of elements."""
        return self.rows * self.cols

    def __str__(self) -> str:
        where = f" {self.placement.format}" if isinstance(self.placement, Rows) else ""
        return f"{self.name} {self.role.value}{where} {self.elem.value} {self.rows}x{self.cols}"
