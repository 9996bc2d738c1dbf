"""The CPU device: a plan's forms run launch by launch in C++, weights read in place from the mapped checkpoint.

Enters: a plan and its checkpoint. Leaves: logits. Constants lie in one pool, what a sequence has for itself in a state
of its own, step-local arrays in one arena of the largest form's size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lane import _core
from lane.checkpoint.gguf import Checkpoint
from lane.devices.device import Array, DeviceError, Memory
from lane.devices.lowering import carried_ranges, constants, records, table
from lane.errors import LaneError
from lane.graph.graph import Head
from lane.graph.tensor import Rows
from lane.launch.quantised import Component
from lane.launch.record import F32, Launch, Numerics
from lane.launch.spec import spec_hash
from lane.launch.table import Elem, Space
from lane.limits import require_memory
from lane.plan.cpu_target import CpuTarget
from lane.plan.plan import FormKey, FormPlan, Plan
from lane.plan.pool import CHUNK_TOKENS
from lane.plan.step import array_bytes
from lane.quant.registry import format_named
from lane.schedule.buffers import Fill

NAME = "cpu"

_SPACE_NUMBER = {space: number for number, space in enumerate(Space)}
_DTYPES: Mapping[Component, type] = {Component.WORDS: np.int8, Component.SECOND: np.int8}


class CpuDevice:
    """A plan on the CPU."""

    name = NAME

    def __init__(self, checkpoint: Checkpoint, plan: Plan) -> None:
        if _core.spec_hash() != spec_hash():
            raise DeviceError(
                f"cpu: the extension was built for launch records {_core.spec_hash()}, "
                f"lane's are {spec_hash()}: rebuild it"
            )
        if not isinstance(plan.target, CpuTarget):
            raise DeviceError(f"cpu: a plan made for {plan.target}, allowed one made for a CPU")
        self.checkpoint = checkpoint
        self.plan = plan
        self.threads = plan.target.threads
        self.program = _core.CpuProgram(self.threads, list(Numerics).index(plan.numerics), plan.target.isa)
        self.forms: dict[FormKey, int] = {}
        self.open_sequences = 0
        self._constants = 0  # of the pool's parts, how many are filled
        self._matrices = 0  # of the plan's, how many are added
        self.adopt(plan)

    def adopt(self, plan: Plan) -> None:
        """Makes the plan's forms ready to run; CapacityError where the machine cannot hold what they need."""
        _check_memory(plan)
        self.plan = plan
        self.program.grow_pool(plan.pool.total_bytes)
        self.program.grow_states(plan.state.total_bytes)
        for offset_bytes, values in constants(plan.pool.parts[self._constants :]):
            self.program.write(_SPACE_NUMBER[Space.POOL], offset_bytes, values.view(np.uint8))
        self._constants = len(plan.pool.parts)
        for rows in plan.matrices[self._matrices :]:
            self._add_matrix(rows)
        self._matrices = len(plan.matrices)
        for key, form in plan.forms.items():
            if key not in self.forms:
                self.forms[key] = self._add_form(form)

    def open(self) -> CpuSequence:
        """A new sequence."""
        return CpuSequence(self)

    def memory(self) -> Memory:
        """Bytes held, by part."""
        return Memory(
            checkpoint=self.checkpoint.bytes,
            caches=self.open_sequences * self.plan.state.filled_bytes(Fill.ZERO),
            constants=self.plan.pool.total_bytes,
            io=self.open_sequences * self.plan.state.filled_bytes(Fill.PARAM, Fill.LOGITS),
            arena=self.plan.arena_bytes,
            scratch=self.program.scratch_bytes,
        )

    def _add_matrix(self, rows: Rows) -> None:
        format = format_named(rows.format)
        runs = []
        for run in rows.runs:
            first, end = (row * rows.row_bytes for row in (run.first, run.first + run.rows))
            runs.append((self.checkpoint.data(run.tensor)[first:end], run.rows))
        try:
            self.program.add_matrix(format.type_id, rows.rows, rows.cols, runs)
        except LaneError as error:
            raise type(error)(f"cpu: tensor '{rows.runs[0].tensor}' ({rows.format}): {error}") from None

    def _add_form(self, form: FormPlan) -> int:
        return int(self.program.add_form(table(form), records(form), form.arena.total_bytes))


class CpuSequence:
    """One sequence on the CPU."""

    def __init__(self, device: CpuDevice) -> None:
        self._device = device
        self._program = device.program
        self._has_run = False
        self.state: int = self._program.open_state()
        device.open_sequences += 1
        io, state = device.plan.decode.schedule.io, device.plan.state
        token, tokens, pos, logits = (
            state.named(name).offset_bytes for name in (io.token, CHUNK_TOKENS, io.pos, io.logits)
        )
        self._steps = _core.CpuSteps(
            self._program, self.state, token, tokens, pos, logits, device.plan.vocab, carried_ranges(state)
        )
        self._known: set[FormKey] = set()
        self._rows_logits: dict[FormKey, F32] = {}

    def reset(self) -> None:
        """Forgets all carried state."""
        if self._has_run:  # before the first step all is zero, and most untouched
            self._steps.reset()
        self._has_run = False

    def prefill(self, tokens: Sequence[int], pos: int, largest: int) -> None:
        """Runs tokens from position `pos` on."""
        self._begin()
        self._steps.prefill(np.array(tokens, np.int32), pos, largest)
        self._device.checkpoint.require_whole()

    def prefill_all(self, tokens: Sequence[int], pos: int, largest: int, out: F32) -> None:
        """Runs tokens from position `pos` on; every row's logits go to `out`."""
        self._begin()
        self._steps.prefill_all(np.array(tokens, np.int32), pos, largest, out.reshape(-1))
        self._device.checkpoint.require_whole()

    def decode(self, steps: int) -> None:
        """Runs the decode step."""
        self._begin()
        self._steps.decode(steps)
        self._device.checkpoint.require_whole()

    def logits(self) -> F32:
        """The last step's logits of its last row."""
        out = np.empty(self._device.plan.vocab, np.float32)
        self._steps.read_logits(out)
        return out

    def token(self) -> int:
        """The arg-max of the last step."""
        return self._steps.token()

    def set_token(self, token: int) -> None:
        """Chooses the token that the next decode step takes."""
        self._steps.set_token(token)

    def position(self) -> int:
        """The position of the next token."""
        return self._steps.position()

    def set_inputs(self, tokens: Sequence[int], pos: int) -> None:
        """Gives the next step its tokens and the position of the first."""
        self._has_run = True
        self._steps.set_inputs(np.array(tokens, np.int32), pos)

    def run_launches(self, key: FormKey, first: int, end: int) -> None:
        """Runs the launches [first, end) of a form on one thread."""
        self._has_run = True
        self._program.run_launches(self._device.forms[key], first, end, self._externals(key), state=self.state)
        self._device.checkpoint.require_whole()

    def read(self, key: FormKey, buffer: str, component: Component = Component.PLAIN) -> Array:
        """One array of a buffer, flat."""
        space, at, size_bytes, dtype = self._array(key, buffer, component)
        if space is Space.EXTERNAL:
            return self._externals(key)[0].copy()
        return np.asarray(self._program.read(_SPACE_NUMBER[space], at, size_bytes, state=self.state)).view(dtype)

    def write(self, key: FormKey, buffer: str, values: Array, component: Component = Component.PLAIN) -> None:
        """Writes one array of a buffer, whole."""
        space, at, size_bytes, dtype = self._array(key, buffer, component)
        data = np.ascontiguousarray(values, dtype).reshape(-1).view(np.uint8)
        if space is Space.POOL or len(data) != size_bytes:
            raise DeviceError(
                f"cpu: write of {len(data)} bytes to '{buffer}' {component.value}, "
                f"{size_bytes} bytes in the {space.value}; allowed the whole of an array that is no constant"
            )
        if space is Space.EXTERNAL:
            self._externals(key)[0][:] = data.view(np.float32)
            return
        self._program.write(_SPACE_NUMBER[space], at, data, state=self.state)

    def profile(self, rows: int, pos: int) -> list[tuple[Launch, int]]:
        """Each launch of the form over `rows` rows from position `pos` on, and its nanoseconds in one run."""
        key = FormKey(rows)
        self.set_inputs([0] * rows, pos)
        times = self._program.profile(self._device.forms[key], [], state=self.state)
        launches = self._device.plan.form(key).schedule.executed()
        return [(item.launch, int(ns)) for item, ns in zip(launches, times, strict=True)]

    def close(self) -> None:
        """Gives the state's memory back."""
        if self.state >= 0:
            self._program.close_state(self.state)
            self._device.open_sequences -= 1
            self.state = -1

    def _array(self, key: FormKey, name: str, component: Component) -> tuple[Space, int, int, type]:
        form = self._device.plan.form(key)
        buffer, place = form.schedule.buffers[name], form.places[name]
        if place.space is Space.MATRIX or component not in place.offsets:
            raise DeviceError(
                f"cpu: '{name}' has no array '{component.value}' to read or write, allowed an array it has"
            )
        dtype = np.int32 if buffer.elem is Elem.I32 else _DTYPES.get(component, np.float32)
        return place.space, place.offsets[component], array_bytes(buffer, component), dtype

    def _externals(self, key: FormKey) -> list[F32]:
        """The arrays that a form writes for its caller: every row's logits, kept until the sequence is closed."""
        if key.head is Head.LAST:
            return []
        if key not in self._rows_logits:
            self._rows_logits[key] = np.full(key.rows * self._device.plan.vocab, np.nan, np.float32)
        return [self._rows_logits[key]]

    def _begin(self) -> None:
        """Before steps: tells the driver of forms that were adopted since."""
        self._has_run = True
        for key, number in self._device.forms.items():
            if key not in self._known:
                self._known.add(key)
                add = self._steps.add if key.head is Head.LAST else self._steps.add_all
                add(key.rows, number)


def _check_memory(plan: Plan) -> None:
    """Refuses what the machine cannot hold, before tables of that length are made."""
    wanted = plan.pool.total_bytes + plan.state.total_bytes + plan.arena_bytes + plan.scratch_bytes
    require_memory(f"cpu: {plan.model.context} positions", wanted)
