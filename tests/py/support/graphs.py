"""Small step graphs for tests, built op by op on tensors of given shapes."""

from __future__ import annotations

import numpy as np

from lane.graph.graph import GraphBuilder, Head, StepGraph, StepIo
from lane.graph.ops import ArgMax
from lane.graph.tensor import Role, Rows, Run, Tensor, Values
from lane.launch.table import Elem


def activation(name: str, rows: int, cols: int) -> Tensor:
    """A tensor that an op would compute."""
    return Tensor(name, rows, cols, Role.ACTIVATION)


def param(name: str, cols: int = 1) -> Tensor:
    """A whole-number input of the step."""
    return Tensor(name, 1, cols, Role.PARAM, Elem.I32)


def state(name: str, rows: int, cols: int) -> Tensor:
    """A carried table."""
    return Tensor(name, rows, cols, Role.STATE)


def matrix(name: str, rows: int, cols: int, format: str = "Q8_0") -> Tensor:
    """A matrix in checkpoint rows."""
    return Tensor(name, rows, cols, Role.CONSTANT, placement=Rows(format, rows, cols, (Run(name, 0, rows),)))


def values(name: str, array: np.ndarray) -> Tensor:
    """A constant of given values; one row where the array has one dimension."""
    array = np.atleast_2d(array).astype(np.float32)
    return Tensor(name, *array.shape, Role.CONSTANT, placement=Values(lambda: array))


def ones(name: str, cols: int, rows: int = 1) -> Tensor:
    """A constant of ones."""
    return values(name, np.ones((rows, cols)))


class Step:
    """A builder with the step's own parameters declared; `close` makes the graph."""

    def __init__(self, rows: int = 1) -> None:
        self.rows = rows
        self.builder = GraphBuilder()
        self.add = self.builder.add
        self.token = self.builder.tensor(param("token"))
        self.pos = self.builder.tensor(param("pos"))
        self.tokens = self.token if rows == 1 else self.builder.tensor(param("tokens", 512))

    def tensor(self, tensor: Tensor) -> str:
        """Declares a tensor."""
        return self.builder.tensor(tensor)

    def close(self, logits: str, head: Head = Head.LAST) -> StepGraph:
        """The graph, closed by its arg-max."""
        self.add(ArgMax(logits, self.token, self.pos, self.rows))
        return self.builder.build(self.rows, head, StepIo(self.tokens, self.token, self.pos, logits))
