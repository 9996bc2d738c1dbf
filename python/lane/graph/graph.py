"""The step graph and its builder.

Enters: tensors and ops added in program order. Leaves: a frozen `StepGraph`. Promise: an activation is written once,
before it is read, whole by one op, whose rule infers its shape, or row by row.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from lane.graph.ops.base import GraphError, Op
from lane.graph.tensor import Role, Tensor


class Head(enum.Enum):
    """Which rows of the block get logits."""

    LAST = "last"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class SequenceIo:
    """One sequence's inputs and outputs by tensor name.

    `token` is the id that the next decode step takes (the arg-max writes it), `pos` the position of the sequence's
    first row, `logits` rows × vocabulary (one row under `Head.LAST`).
    """

    token: str
    pos: str
    logits: str


@dataclass(frozen=True, slots=True)
class StepIo:
    """The step's inputs and outputs by tensor name: `tokens` holds the block's token ids, the rest is as in
    `SequenceIo`. A batch step names the same for every further sequence, whose token is its block."""

    tokens: str
    token: str
    pos: str
    logits: str
    further: tuple[SequenceIo, ...] = ()

    @property
    def sequences(self) -> tuple[SequenceIo, ...]:
        """Every sequence's, the first included."""
        return (SequenceIo(self.token, self.pos, self.logits), *self.further)


@dataclass(frozen=True, slots=True)
class StepGraph:
    """One step of a model over `rows` rows of one sequence, or over one row of each of several (a batch)."""

    rows: int
    head: Head
    tensors: Mapping[str, Tensor]
    ops: tuple[Op, ...]
    io: StepIo


class GraphBuilder:
    """Collects tensors and ops; every op's output is declared by its shape rule."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.ops: list[Op] = []

    def tensor(self, tensor: Tensor) -> str:
        """Declares a tensor that no op computes whole; again under the same name it must be the same in shape and role.

        An activation declared so is a stack, into which `WriteRows` gathers the rows of a batch.
        """
        known = self.tensors.get(tensor.name)
        if known is None:
            self.tensors[tensor.name] = tensor
        elif str(known) != str(tensor):
            raise GraphError(f"graph: tensor '{tensor.name}' declared twice: '{known}' and '{tensor}'")
        return tensor.name

    def add(self, op: Op) -> str:
        """Appends an op and gives the name of what it writes first."""
        for name in op.read():
            if name not in self.tensors:
                raise GraphError(f"graph: op '{op.kind}' reads '{name}', which nothing before it declares")
        shape = op.infer(self.tensors)
        out = op.written()[0]
        if shape is not None:
            if out in self.tensors:
                raise GraphError(f"graph: op '{op.kind}' writes '{out}', which is there already")
            self.tensors[out] = Tensor(out, *shape, Role.ACTIVATION, op.output_elem())
        self.ops.append(op)
        return out

    def build(self, rows: int, head: Head, io: StepIo) -> StepGraph:
        """The finished graph."""
        return StepGraph(rows, head, dict(self.tensors), tuple(self.ops), io)
