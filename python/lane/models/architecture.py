"""What an architecture is: the keys it reads, its tensor table, and how it builds a step.

A tensor table's row is a pattern (`{}` stands for the layer), a shape in named dimensions, whether the tensor must be
there, and the kind of layers that have it. Recognition reads the keys and checks the table against the file; from then
on no other file branches on the architecture.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from lane.checkpoint.gguf import Checkpoint
from lane.errors import CheckpointError, UnsupportedError
from lane.models.hparams import Hparams
from lane.models.part import Dim, Part
from lane.models.shape import DenseShape
from lane.models.step import StepBuilder
from lane.quant.registry import format_named


@dataclass(frozen=True)
class Config:
    """What a file says: a shape, and what else its architecture puts beside it. Fields that are parts lend the tensor
    table their names."""

    shape: DenseShape

    @property
    def layers(self) -> int:
        """Layers that a step runs."""
        return self.shape.layers

    @property
    def context(self) -> int:
        """The model's own context."""
        return self.shape.context

    def dims(self) -> Mapping[str, Dim]:
        """Every part's dimensions."""
        return {name: dim for part in self._parts() for name, dim in part.dims().items()}

    def kinds(self) -> Mapping[str, tuple[int, ...]]:
        """Every part's kinds of layers."""
        return {name: layers for part in self._parts() for name, layers in part.kinds().items()}

    def _parts(self) -> list[Part]:
        values = (getattr(self, field.name) for field in dataclasses.fields(self))
        return [value for value in values if isinstance(value, Part)]


@dataclass(frozen=True, slots=True)
class TensorRow:
    """One row of a tensor table: `shape` is (rows, cols), or (cols,) for a vector, in named dimensions; a third one,
    outermost, counts matrices. `kind` names the layers that have it ("": all). Converters leave vectors and what is
    `plain` in F32."""

    pattern: str
    shape: tuple[str, ...]
    required: bool = True
    kind: str = ""
    plain: bool = False


def need(pattern: str, *shape: str, plain: bool = False) -> TensorRow:
    """A tensor that the file must have."""
    return TensorRow(pattern, shape, plain=plain)


def may(pattern: str, *shape: str) -> TensorRow:
    """A tensor that the file may have."""
    return TensorRow(pattern, shape, required=False)


def only(kind: str, rows: tuple[TensorRow, ...]) -> tuple[TensorRow, ...]:
    """Rows for the layers of one kind."""
    return tuple(replace(row, kind=kind) for row in rows)


C = TypeVar("C", bound=Config)


@dataclass(frozen=True)
class Architecture(Generic[C]):
    """One model family."""

    name: str
    read: Callable[[Hparams], C]
    tensors: tuple[TensorRow, ...]
    build: Callable[[StepBuilder, C], str]  # adds the ops of a step, gives its logits' name


@dataclass(frozen=True, slots=True)
class Named:
    """A tensor that a table names: its row, and its shape, outermost dimension first."""

    name: str
    row: TensorRow
    shape: tuple[int, ...]


def named_tensors(architecture: Architecture[C], config: C) -> Iterator[Named]:
    """Every tensor that the table names for a configuration, row by row, layer by layer."""
    dims, kinds = config.dims(), config.kinds()
    for row in architecture.tensors:
        if "{}" not in row.pattern:
            yield Named(row.pattern, row, tuple(_at(dims[d], 0) for d in row.shape))
            continue
        for layer in kinds[row.kind] if row.kind else range(config.layers):
            yield Named(row.pattern.format(layer), row, tuple(_at(dims[d], layer) for d in row.shape))


def check_tensors(architecture: Architecture[C], config: C, checkpoint: Checkpoint) -> None:
    """Holds the file's tensors against the table: none missing, none of another shape, none unknown."""
    known: set[str] = set()
    for tensor in named_tensors(architecture, config):
        known.add(tensor.name)
        _check_tensor(tensor, checkpoint)
    first = config.layers
    unused = tuple(f"blk.{i}." for i in range(first, first + config.shape.unused_layers))
    for name in checkpoint.tensors:
        if name not in known and not name.startswith(unused):
            raise UnsupportedError(
                f"models: tensor '{name}': architecture '{architecture.name}' does not use it and it may change results"
            )


def _at(dim: Dim, layer: int) -> int:
    return dim if isinstance(dim, int) else dim[layer]


def _check_tensor(wanted: Named, checkpoint: Checkpoint) -> None:
    tensor = checkpoint.tensors.get(wanted.name)
    if tensor is None:
        if wanted.row.required:
            raise CheckpointError(f"models: tensor '{wanted.name}': not in the file, required")
        return
    try:
        format_named(tensor.type)
    except UnsupportedError as error:
        raise UnsupportedError(f"models: tensor '{wanted.name}': {error}") from None
    shape = wanted.shape[::-1]
    if _trimmed(tensor.shape) != _trimmed(shape):
        names = ", ".join(reversed(wanted.row.shape))
        raise CheckpointError(
            f"models: tensor '{wanted.name}': found shape {list(tensor.shape)}, allowed {list(shape)} ({names})"
        )


def _trimmed(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape, innermost first, without trailing ones beyond the first dimension."""
    while len(shape) > 1 and shape[-1] == 1:
        shape = shape[:-1]
    return shape
