"""A schedule run by its launches' own definitions over numpy arrays.

Enters: a schedule and a model's matrices. Leaves: logits. Arrays have the buffers' element types, so results round as
on a device; sums inside a launch are float64. What no launch wrote is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lane.graph.tensor import Role, Rows, Values
from lane.launch.projection import quantise, quantised_values
from lane.launch.record import F64, Numerics
from lane.launch.table import Elem
from lane.schedule.buffers import Buffer
from lane.schedule.schedule import Schedule

DTYPES: Mapping[Elem, Any] = {Elem.F32: np.float32, Elem.I32: np.int32}


class ScheduleMemory:
    """The arrays of one schedule; carried state lives in `states`, shared by a model's schedules."""

    def __init__(
        self, schedule: Schedule, read_matrix: Callable[[Rows], F64], states: dict[str, npt.NDArray[Any]]
    ) -> None:
        self.numerics = schedule.numerics
        self._schedule = schedule
        self._read_matrix = read_matrix
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        for buffer in schedule.buffers.values():
            if not buffer.is_matrix:
                self._arrays[buffer.name] = self._make(buffer, states)

    def run(self, tokens: Sequence[int], pos: int) -> F64:
        """Logits (rows × vocabulary) of one step over `tokens` from position `pos`."""
        schedule = self._schedule
        self.plain(schedule.io.tokens)[: len(tokens)] = tokens
        self.plain(schedule.io.pos)[0] = pos
        for item in schedule.executed():
            item.launch.compute(self)
        logits = schedule.buffers[schedule.io.logits].tensor
        return self.plain(schedule.io.logits).astype(np.float64).reshape(logits.rows, logits.cols)

    def plain(self, name: str) -> npt.NDArray[Any]:
        """The flat plain array of a tensor."""
        return self._arrays[name]

    def quantised(self, name: str) -> F64:
        """The values that the quantised form stands for."""
        words, second, scales = quantise(self.plain(name))
        return quantised_values(words, second if self.numerics is Numerics.INT8X2 else None, scales)

    def matrix(self, name: str) -> F64:
        """A matrix's dequantised values, rows × cols."""
        placement = self._schedule.buffers[name].tensor.placement
        assert isinstance(placement, Rows)
        return self._read_matrix(placement)

    def _make(self, buffer: Buffer, states: dict[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
        if buffer.base is not None:
            return self._arrays[buffer.base][buffer.offset : buffer.offset + buffer.elems]
        if isinstance(buffer.tensor.placement, Values):
            return buffer.tensor.placement.array.reshape(-1)
        if buffer.tensor.role is Role.STATE:
            return states.setdefault(buffer.name, np.zeros(buffer.elems, DTYPES[buffer.elem]))
        if buffer.tensor.role is Role.PARAM:
            return np.zeros(buffer.elems, DTYPES[buffer.elem])
        return np.full(buffer.elems, np.nan, DTYPES[buffer.elem])
