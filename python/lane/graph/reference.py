"""The reference interpreter: a step graph in numpy float64. The semantics every device is held to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lane.graph.graph import StepGraph
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
        arrays: Arrays = {}
        for tensor in graph.tensors.values():
            if tensor.role is not Role.ACTIVATION:
                arrays[tensor.name] = self._array(tensor)
        arrays[graph.io.tokens].reshape(-1)[: len(tokens)] = tokens
        arrays[graph.io.pos][0, 0] = pos
        for op in graph.ops:
            op.compute(arrays)
        return np.asarray(arrays[graph.io.logits])

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
