"""The reference interpreter: a step graph in numpy float64. The semantics every device is held to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lane.graph.graph import StepGraph
from lane.graph.ops import WriteRows
from lane.graph.ops.base import Array, Arrays
from lane.graph.tensor import Role, Rows, Tensor, Values
from lane.launch.table import Elem

MatrixReader = Callable[[Rows], Array]


class Reference:
    """Runs step graphs of one model over carried state kept in float64.

    `read_matrix` gives a matrix's dequantised values (rows × cols); they are read once and kept.
    """

    def __init__(self, read_matrix: MatrixReader) -> None:
        self._read_matrix = read_matrix
        self._kept: Arrays = {}

    def run(self, graph: StepGraph, tokens: Sequence[int], pos: int) -> Array:
        """Logits (rows × vocabulary) of one step over `tokens` from position `pos`."""
        arrays = self._arrays(graph)
        arrays[graph.io.tokens].reshape(-1)[: len(tokens)] = tokens
        arrays[graph.io.pos][0, 0] = pos
        return self._compute(graph, arrays)[0]

    def run_batch(self, graph: StepGraph, tokens: Sequence[int], positions: Sequence[int]) -> list[Array]:
        """Logits (1 × vocabulary) of each sequence of a batch step, one token and position a sequence."""
        arrays = self._arrays(graph)
        for sequence, token, pos in zip(graph.io.sequences, tokens, positions, strict=True):
            arrays[sequence.token][0, 0], arrays[sequence.pos][0, 0] = token, pos
        return self._compute(graph, arrays)

    def _arrays(self, graph: StepGraph) -> Arrays:
        """What is there before the first op: all but activations, of which stacks alone."""
        stacks = {op.table for op in graph.ops if isinstance(op, WriteRows)}
        arrays: Arrays = {}
        for tensor in graph.tensors.values():
            if tensor.role is not Role.ACTIVATION:
                arrays[tensor.name] = self._array(tensor)
            elif tensor.name in stacks:
                arrays[tensor.name] = np.full((tensor.rows, tensor.cols), np.nan)
        return arrays

    @staticmethod
    def _compute(graph: StepGraph, arrays: Arrays) -> list[Array]:
        for op in graph.ops:
            op.compute(arrays)
        return [np.asarray(arrays[sequence.logits]) for sequence in graph.io.sequences]

    def reset(self) -> None:
        """Forgets all carried state."""
        self._kept = {n: a for n, a in self._kept.items() if not n.startswith("state:")}

    def _array(self, tensor: Tensor) -> Array:
        key = f"{tensor.role.value}:{tensor.name}"
        if key not in self._kept:
            self._kept[key] = self._make(tensor)
        return self._kept[key]

    def _make(self, tensor: Tensor) -> Array:
        if isinstance(tensor.placement, Rows):
            return self._read_matrix(tensor.placement)
        if isinstance(tensor.placement, Values):
            return tensor.placement.array.astype(np.float64).reshape(tensor.rows, tensor.cols)
        dtype = np.int64 if tensor.elem is Elem.I32 else np.float64
        return np.zeros((tensor.rows, tensor.cols), dtype)
