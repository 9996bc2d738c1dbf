"""What an architecture is: the keys it reads, its tensor table, and how it builds a step.

A tensor table's row is a pattern (`{}` stands for the layer), a shape in named dimensions, and whether the tensor must
be there. Recognition reads the keys and checks the table against the file; from then on no other file branches on the
architecture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lane.checkpoint.gguf import Checkpoint
from lane.errors import CheckpointError, UnsupportedError
from lane.models.hparams import Hparams
from lane.models.step import StepBuilder
from lane.quant.registry import format_named


@dataclass(frozen=True, slots=True)
class TensorRow:
    """One row of a tensor table: `shape` is (rows, cols), or (cols,) for a vector, in named dimensions."""

    pattern: str
    shape: tuple[str, ...]
    required: bool = True


def need(pattern: str, *shape: str) -> TensorRow:
    """A tensor that the file must have."""
    return TensorRow(pattern, shape)


def may(pattern: str, *shape: str) -> TensorRow:
    """A tensor that the file may have."""
    return TensorRow(pattern, shape, required=False)


@dataclass(frozen=True)
class Config:
    """What every architecture's configuration gives: its layers, its own context, and its dimensions by name."""

    layers: int
    context: int
    dims: Mapping[str, int]


@dataclass(frozen=True)
class Architecture:
    """One model family."""

    name: str
    read: Callable[[Hparams], Config]
    tensors: tuple[TensorRow, ...]
    build: Callable[[StepBuilder, Config], str]  # adds the ops of a step, gives its logits' name


def check_tensors(architecture: Architecture, config: Config, checkpoint: Checkpoint) -> None:
    """Holds the file's tensors against the table: none missing, none of another shape, none unknown."""
    known: set[str] = set()
    for row in architecture.tensors:
        layers: list[int | None] = list(range(config.layers)) if "{}" in row.pattern else [None]
        for layer in layers:
            name = row.pattern.format(layer)
            known.add(name)
            _check_tensor(name, row, config.dims, checkpoint)
    for name in checkpoint.tensors:
        if name not in known:
            raise UnsupportedError(
                f"models: tensor '{name}': architecture '{architecture.name}' does not use it and it may change results"
            )


def _check_tensor(name: str, row: TensorRow, dims: Mapping[str, int], checkpoint: Checkpoint) -> None:
    tensor = checkpoint.tensors.get(name)
    if tensor is None:
        if row.required:
            raise CheckpointError(f"models: tensor '{name}': not in the file, required")
        return
    try:
        format_named(tensor.type)
    except UnsupportedError as error:
        raise UnsupportedError(f"models: tensor '{name}': {error}") from None
    wanted = tuple(dims[d] for d in reversed(row.shape))
    if _trimmed(tensor.shape) != _trimmed(wanted):
        names = ", ".join(reversed(row.shape))
        raise CheckpointError(
            f"models: tensor '{name}': found shape {list(tensor.shape)}, allowed {list(wanted)} ({names})"
        )


def _trimmed(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape, innermost first, without trailing ones beyond the first dimension."""
    while len(shape) > 1 and shape[-1] == 1:
        shape = shape[:-1]
    return shape
