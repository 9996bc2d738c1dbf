"""Building a step: a graph builder that also knows the checkpoint.

Enters: a family's calls in program order. Leaves: a `StepGraph`. Constants are made once a model (`Constants`) and
shared by all its forms; carried state is declared by whoever writes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Protocol

import numpy as np

from lane.errors import CheckpointError
from lane.graph.graph import GraphBuilder, Head, StepGraph, StepIo
from lane.graph.ops import ArgMax, Gather, ReadRow
from lane.graph.tensor import Role, Rows, Run, Tensor, Values
from lane.launch.record import F32, Numerics
from lane.launch.table import Elem
from lane.models.rotation import Rotation

MAX_CHUNK_ROWS = 512  # the largest prefill chunk
CHUNK_ROWS = tuple(1 << i for i in range(1, 10))  # 2, 4, 8, … 512


class TensorSource(Protocol):
    """What the builder needs of a checkpoint."""

    def shape(self, name: str) -> tuple[int, ...] | None:
        """A tensor's shape, innermost first; None when the file has none of that name."""

    def format(self, name: str) -> str:
        """A tensor's format by name."""

    def values(self, name: str) -> F32:
        """A tensor's values as flat f32."""


class Constants:
    """The constants of one model, made on first use and kept."""

    def __init__(self, source: TensorSource, context: int) -> None:
        self.source = source
        self.context = context
        self._made: dict[str, Tensor] = {}

    def has(self, name: str) -> bool:
        """Whether the checkpoint has the tensor."""
        return self.source.shape(name) is not None

    def matrix(self, name: str) -> Tensor:
        """A tensor kept as checkpoint rows."""
        if name not in self._made:
            cols, rows = self._matrix_shape(name)
            placement = Rows(self.source.format(name), rows, cols, (Run(name, 0, rows),))
            self._made[name] = Tensor(name, rows, cols, Role.CONSTANT, placement=placement)
        return self._made[name]

    def rows_of(self, name: str, first: int, rows: int) -> Tensor:
        """`rows` consecutive rows of a tensor as a matrix of its own (a fused projection's part)."""
        key = f"{name}[{first}:{first + rows}]"
        if key not in self._made:
            cols, _ = self._matrix_shape(name)
            placement = Rows(self.source.format(name), rows, cols, (Run(name, first, rows),))
            self._made[key] = Tensor(key, rows, cols, Role.CONSTANT, placement=placement)
        return self._made[key]

    def parts_of(self, name: str, every: int, first: int, rows: int) -> Tensor:
        """Of every group of `every` rows of a tensor, `rows` rows from `first` on, as a matrix of its own."""
        key = f"{name}[{first}:{first + rows} of {every}]"
        if key not in self._made:
            cols, height = self._matrix_shape(name)
            runs = tuple(Run(name, at + first, rows) for at in range(0, height, every))
            placement = Rows(self.source.format(name), rows * len(runs), cols, runs)
            self._made[key] = Tensor(key, placement.rows, cols, Role.CONSTANT, placement=placement)
        return self._made[key]

    def vector(self, name: str) -> Tensor:
        """A tensor of one row as f32 values."""
        if name not in self._made:
            shape = self.source.shape(name)
            if shape is None:
                raise CheckpointError(f"models: tensor '{name}': not in the file, required")
            self._made[name] = _value_tensor(name, 1, math.prod(shape), lambda: self.source.values(name).reshape(1, -1))
        return self._made[name]

    def table(self, name: str) -> Tensor:
        """A tensor as f32 values, in its rows."""
        if name not in self._made:
            cols, rows = self._matrix_shape(name)
            self._made[name] = _value_tensor(name, rows, cols, lambda: self.source.values(name).reshape(rows, cols))
        return self._made[name]

    def rotation(self, name: str, rotation: Rotation, factors: str | None = None) -> tuple[Tensor, Tensor]:
        """The cos and sin tables of a rotation over the whole context; `factors` names the tensor of angle divisors."""
        if f"{name}.cos" not in self._made:
            divisors = None if factors is None else self._factors(factors, rotation.dims // 2)
            tables = cache(lambda: rotation.tables(self.context, divisors))
            for number, part in enumerate((f"{name}.cos", f"{name}.sin")):
                make = partial(_table, tables, number)
                self._made[part] = _value_tensor(part, self.context, rotation.dims // 2, make)
        return self._made[f"{name}.cos"], self._made[f"{name}.sin"]

    def _factors(self, name: str, count: int) -> F32:
        if not self.has(name):
            raise CheckpointError(f"models: tensor '{name}': not in the file, required")
        values = self.source.values(name)
        if len(values) != count:
            raise CheckpointError(f"models: tensor '{name}': found {len(values)} factors, allowed {count}")
        bad = values[~(np.isfinite(values) & (values > 0))]
        if len(bad):
            raise CheckpointError(f"models: tensor '{name}': found a factor {bad[0]}, allowed finite numbers above 0")
        return values

    def _matrix_shape(self, name: str) -> tuple[int, int]:
        shape = self.source.shape(name)
        if shape is None:
            raise CheckpointError(f"models: tensor '{name}': not in the file, required")
        return shape[0], int(np.prod(shape[1:], dtype=np.int64))


def _table(tables: Callable[[], tuple[F32, F32]], number: int) -> F32:
    return tables()[number]


def _value_tensor(name: str, rows: int, cols: int, make: Callable[[], F32]) -> Tensor:
    return Tensor(name, rows, cols, Role.CONSTANT, placement=Values(make))


@dataclass(frozen=True, slots=True)
class Tables:
    """The names of a rotation's tables in a step."""

    cos: str
    sin: str


class StepBuilder(GraphBuilder):
    """Builds one form of a model: `rows` rows of one sequence, logits of the last or of all of them.

    `numerics` is for families whose graph depends on it (latent attention has two forms).
    """

    def __init__(self, constants: Constants, rows: int, head: Head, numerics: Numerics) -> None:
        super().__init__()
        self.constants = constants
        self.rows = rows
        self.head = head
        self.numerics = numerics
        self.token = self._param("token", 1)
        self.pos = self._param("pos", 1)
        self.tokens = self.token if rows == 1 else self._param("tokens", MAX_CHUNK_ROWS)

    @property
    def context(self) -> int:
        """Positions that the carried caches hold."""
        return self.constants.context

    def has(self, name: str) -> bool:
        """Whether the checkpoint has the tensor."""
        return self.constants.has(name)

    def matrix(self, name: str) -> str:
        """A checkpoint matrix by its tensor name."""
        return self.tensor(self.constants.matrix(name))

    def matrix_rows(self, name: str, first: int, rows: int) -> str:
        """Consecutive rows of a checkpoint matrix."""
        return self.tensor(self.constants.rows_of(name, first, rows))

    def matrix_parts(self, name: str, every: int, first: int, rows: int) -> str:
        """The same rows of every group of rows of a checkpoint matrix."""
        return self.tensor(self.constants.parts_of(name, every, first, rows))

    def vector(self, name: str) -> str:
        """A checkpoint vector by its tensor name."""
        return self.tensor(self.constants.vector(name))

    def table(self, name: str) -> str:
        """A checkpoint tensor's values, in its rows."""
        return self.tensor(self.constants.table(name))

    def rotation(self, name: str, rotation: Rotation, factors: str | None = None) -> Tables:
        """The tables of a rotation, by a name of the family's choice."""
        cos, sin = self.constants.rotation(name, rotation, factors)
        return Tables(self.tensor(cos), self.tensor(sin))

    def cache(self, name: str, cols: int) -> str:
        """A carried table of one row a position."""
        return self.state(name, self.context, cols)

    def state(self, name: str, rows: int, cols: int) -> str:
        """Carried state of any shape: a ring, a memory."""
        return self.tensor(Tensor(name, rows, cols, Role.STATE))

    def cols(self, name: str) -> int:
        """A tensor's width."""
        return self.tensors[name].cols

    def embed(self, table: str, scale: float = 1.0) -> str:
        """The block's token embeddings."""
        return self.add(Gather(self.matrix(table), self.tokens, "embed", self.rows, scale))

    def head_rows(self, x: str) -> str:
        """The rows of x that get logits."""
        if self.rows == 1 or self.head is Head.ALL:
            return x
        return self.add(ReadRow(x, f"{x}.last", self.rows - 1))

    def finish(self, logits: str) -> StepGraph:
        """Closes the step with the arg-max."""
        self.add(ArgMax(logits, self.token, self.pos, self.rows))
        return self.build(self.rows, self.head, StepIo(self.tokens, self.token, self.pos, logits))

    def _param(self, name: str, cols: int) -> str:
        return self.tensor(Tensor(name, 1, cols, Role.PARAM, Elem.I32))
