"""The reference device: the unfused graph of each step in numpy float64. Slow; what every other device is held to.

Enters: a plan and its checkpoint. Leaves: logits. Whole steps run the graph's ops. Single launches run by their own
definitions (`Launch.compute`) over arrays of their buffers' element types, on the form's own memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lane.checkpoint.gguf import Checkpoint
from lane.devices.chunks import cut
from lane.devices.device import Array, DeviceError, Memory
from lane.graph.graph import Head
from lane.graph.reference import Reference
from lane.graph.tensor import Rows, Values
from lane.launch.fields import Storage
from lane.launch.quantised import Component, component_bytes, components, quantise, quantised_values
from lane.launch.record import F32, F64, Launch
from lane.launch.table import Elem
from lane.models.recognise import Model
from lane.plan.plan import DECODE, FormKey, Plan
from lane.schedule.buffers import Buffer, Fill
from lane.schedule.schedule import Schedule

NAME = "reference"

DTYPES: Mapping[Elem, Any] = {Elem.F32: np.float32, Elem.I32: np.int32, Elem.F16: np.float16}


class ReferenceDevice:
    """A plan in numpy."""

    name = NAME
    threads = 1

    def __init__(self, checkpoint: Checkpoint, plan: Plan) -> None:
        self.checkpoint = checkpoint
        self.plan = plan
        self._matrices: dict[Rows, F64] = {}

    def adopt(self, plan: Plan) -> None:
        """Makes the plan's forms ready to run."""
        self.plan = plan

    def open(self) -> ReferenceSequence:
        """A new sequence."""
        return ReferenceSequence(self)

    def memory(self) -> Memory:
        """What the plan says; numpy's own arrays, twice as wide, are not counted."""
        return Memory(checkpoint=0, caches=0, constants=self.plan.pool.total_bytes, io=0, arena=0)

    def read_matrix(self, rows: Rows) -> F64:
        """A matrix's dequantised values, kept."""
        if rows not in self._matrices:
            self._matrices[rows] = self._model.source.matrix(rows)
        return self._matrices[rows]

    @property
    def _model(self) -> Model:
        return self.plan.model


class ReferenceSequence:
    """One sequence in numpy."""

    def __init__(self, device: ReferenceDevice) -> None:
        self._device = device
        self._graphs = Reference(device.read_matrix)
        self._states: dict[str, npt.NDArray[Any]] = {}
        self._memories: dict[FormKey, ScheduleMemory] = {}
        self._token = self._pos = 0
        self._inputs: tuple[Sequence[int], int] = ([0], 0)
        self._given: dict[FormKey, tuple[Sequence[int], int]] = {}  # the inputs that a form's memory holds
        self._logits: F32 = np.zeros(device.plan.vocab, np.float32)

    def reset(self) -> None:
        """Forgets all carried state."""
        self._graphs.reset()
        self._states.clear()
        self._memories.clear()
        self._given.clear()
        self._pos = 0

    def prefill(self, tokens: Sequence[int], pos: int, largest: int) -> None:
        """Runs tokens from position `pos` on."""
        at = 0
        for rows in cut(len(tokens), largest):
            self._run(FormKey(rows), tokens[at : at + rows], pos + at)
            at += rows

    def prefill_all(self, tokens: Sequence[int], pos: int, largest: int, out: F32) -> None:
        """Runs tokens from position `pos` on; every row's logits go to `out`."""
        at = 0
        for rows in cut(len(tokens), largest):
            out[at : at + rows] = self._run(FormKey(rows, Head.ALL), tokens[at : at + rows], pos + at)
            at += rows

    def decode(self, steps: int) -> None:
        """Runs the decode step."""
        for _ in range(steps):
            self._run(DECODE, [self._token], self._pos)

    def logits(self) -> F32:
        """The last step's logits of its last row."""
        return self._logits

    def token(self) -> int:
        """The arg-max of the last step."""
        return self._token

    def set_token(self, token: int) -> None:
        """Chooses the token that the next decode step takes."""
        self._token = token

    def position(self) -> int:
        """The position of the next token."""
        return self._pos

    def set_inputs(self, tokens: Sequence[int], pos: int) -> None:
        """Gives the next step its tokens and the position of the first."""
        self._inputs = (tokens, pos)
        self._token, self._pos = tokens[0], pos

    def run_launches(self, key: FormKey, first: int, end: int) -> None:
        """Runs the launches [first, end) of a form by their definitions."""
        memory = self._memory(key)
        launches = list(memory.schedule.executed())
        if not 0 <= first <= end <= len(launches):
            raise DeviceError(f"reference: launches {first} to {end}, allowed a range within 0 to {len(launches)}")
        for item in launches[first:end]:
            item.launch.compute(memory)

    def read(self, key: FormKey, buffer: str, component: Component = Component.PLAIN) -> Array:
        """One array of a buffer, flat."""
        memory = self._memory(key)
        if component is Component.PLAIN:
            return memory.plain(buffer).copy()
        if not memory.schedule.buffers[buffer].quant or component not in memory.quantised_arrays(buffer):
            raise DeviceError(f"reference: '{buffer}' has no array '{component.value}' to read, allowed one it has")
        return memory.quantised_arrays(buffer)[component].copy()

    def write(self, key: FormKey, buffer: str, values: Array, component: Component = Component.PLAIN) -> None:
        """Writes one array of a buffer, whole."""
        memory = self._memory(key)
        if component is Component.PLAIN:
            memory.plain(buffer)[:] = values
            return
        if not memory.schedule.buffers[buffer].quant or component not in memory.quantised_arrays(buffer):
            raise DeviceError(f"reference: '{buffer}' has no array '{component.value}' to write, allowed one it has")
        memory.quantised_arrays(buffer)[component][:] = values

    def profile(self, rows: int, pos: int) -> list[tuple[Launch, int]]:
        """Each launch and the nanoseconds that its definition took."""
        key = FormKey(rows)
        self.set_inputs([0] * rows, pos)
        times = []
        for number, item in enumerate(self._device.plan.form(key).schedule.executed()):
            started = time.perf_counter_ns()
            self.run_launches(key, number, number + 1)
            times.append((item.launch, time.perf_counter_ns() - started))
        return times

    def close(self) -> None:
        """Gives the memory back."""
        self._memories.clear()
        self._states.clear()

    def _memory(self, key: FormKey) -> ScheduleMemory:
        if key not in self._memories:
            schedule = self._device.plan.form(key).schedule
            self._memories[key] = ScheduleMemory(schedule, self._device.read_matrix, self._states)
        memory = self._memories[key]
        if self._given.get(key) is not self._inputs and len(self._inputs[0]) == key.rows:
            memory.set_inputs(*self._inputs)
            self._given[key] = self._inputs
        return memory

    def _run(self, key: FormKey, tokens: Sequence[int], pos: int) -> F64:
        logits = self._graphs.run(self._device.plan.form(key).graph, tokens, pos)
        self._logits = logits[-1].astype(np.float32)
        self._token = int(np.argmax(np.where(np.isnan(logits[-1]), -np.inf, logits[-1])))
        self._pos = pos + key.rows
        return logits


class ScheduleMemory:
    """The arrays of one schedule, for its launches' definitions; carried state lives in `states`, which a sequence's
    schedules share.

    Arrays have the buffers' element types, so results round as on a device; sums inside a launch are float64. What no
    launch wrote is NaN.
    """

    def __init__(
        self, schedule: Schedule, read_matrix: Callable[[Rows], F64], states: dict[str, npt.NDArray[Any]]
    ) -> None:
        self.numerics = schedule.numerics
        self.schedule = schedule
        self._read_matrix = read_matrix
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        self._quantised: dict[str, dict[Component, npt.NDArray[Any]]] = {}
        for buffer in schedule.buffers.values():
            if not buffer.is_matrix:
                self._arrays[buffer.name] = self._make(buffer, states)
            if buffer.quant:
                self._quantised[buffer.name] = self._make_quantised(buffer)

    def set_inputs(self, tokens: Sequence[int], pos: int) -> None:
        """Gives the step its tokens and the position of the first."""
        self.plain(self.schedule.io.tokens)[: len(tokens)] = tokens
        self.plain(self.schedule.io.pos)[0] = pos

    def run(self, tokens: Sequence[int], pos: int) -> F64:
        """Logits (rows × vocabulary) of one step over `tokens` from position `pos`."""
        self.set_inputs(tokens, pos)
        for item in self.schedule.executed():
            item.launch.compute(self)
        logits = self.schedule.buffers[self.schedule.io.logits].tensor
        assert logits is not None, "logits are a tensor of the graph"
        return self.plain(self.schedule.io.logits).astype(np.float64).reshape(logits.rows, logits.cols)

    def plain(self, name: str) -> npt.NDArray[Any]:
        """The flat plain array of a tensor."""
        return self._arrays[name]

    def quantised(self, name: str) -> F64:
        """The values that the quantised form stands for."""
        arrays = self.quantised_arrays(name)
        return quantised_values(arrays[Component.WORDS], arrays.get(Component.SECOND), arrays[Component.SCALES])

    def quantised_arrays(self, name: str) -> Mapping[Component, npt.NDArray[Any]]:
        """The arrays of a tensor's quantised form."""
        return self._quantised[name]

    def quantise(self, name: str, values: F32, start: int = 0) -> None:
        """Stores values from element `start` on in the quantised form."""
        words, second, scales = quantise(values)
        made: Mapping[Component, npt.NDArray[Any]] = {
            Component.WORDS: words,
            Component.SECOND: second,
            Component.SCALES: scales,
        }
        for component, array in self._quantised[name].items():
            at = _at(component, start)
            array[at : at + made[component].size] = made[component]

    def matrix(self, name: str) -> F64:
        """A matrix's dequantised values, rows × cols."""
        rows = self.schedule.buffers[name].rows
        assert rows is not None, f"'{name}' has no checkpoint rows"
        return self._read_matrix(rows)

    def _make(self, buffer: Buffer, states: dict[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
        if buffer.base is not None:
            return self._arrays[buffer.base][buffer.offset : buffer.offset + buffer.elems]
        if buffer.tensor is not None and isinstance(buffer.tensor.placement, Values):
            return buffer.tensor.placement.array.reshape(-1)
        if buffer.fill is Fill.ZERO:
            return states.setdefault(buffer.name, np.zeros(buffer.elems, DTYPES[buffer.elem]))
        if buffer.fill in (Fill.PARAM, Fill.COUNTER):
            return np.zeros(buffer.elems, DTYPES[buffer.elem])
        return np.full(buffer.elems, np.nan, DTYPES[buffer.elem])

    def _make_quantised(self, buffer: Buffer) -> dict[Component, npt.NDArray[Any]]:
        if buffer.base is not None:
            base = self._quantised[buffer.base]
            return {c: array[(at := _at(c, buffer.offset)) : at + _at(c, buffer.elems)] for c, array in base.items()}
        arrays: dict[Component, npt.NDArray[Any]] = {}
        for component in components(Storage.QUANT, self.numerics):
            dtype = np.float32 if component is Component.SCALES else np.int8
            arrays[component] = np.zeros(_at(component, buffer.elems), dtype)
        arrays[Component.SCALES][:] = np.nan  # what no launch wrote is not a number
        return arrays


def _at(component: Component, elems: int) -> int:
    """Which of an array's elements the values from element `elems` on begin at."""
    return component_bytes(component, elems) // (4 if component is Component.SCALES else 1)
