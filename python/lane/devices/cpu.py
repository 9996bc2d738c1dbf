"""The CPU device: a lane's forms run launch by launch in C++, weights read in place from the mapped checkpoint.

Enters: a lane and its checkpoint. Leaves: logits. All that lives across steps (parameters, constants, carried state,
the last row's logits) is carved once from one pool; step-local arrays lie in one arena of the largest form's size.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lane import _core
from lane.checkpoint.gguf import Checkpoint
from lane.devices.chunks import cut
from lane.errors import LaneError
from lane.graph.graph import Head
from lane.graph.tensor import Rows, Values
from lane.launch.record import F32, Launch, Numerics
from lane.launch.registry import KIND_NUMBER
from lane.launch.spec import spec_hash
from lane.launch.table import COLUMNS, ELEM_BYTES, Elem, Space
from lane.limits import require_memory
from lane.models.recognise import LONGEST_CONTEXT, recognise
from lane.models.step import MAX_CHUNK_ROWS
from lane.pipeline import Form, Lane
from lane.plan.arena import ArenaPlan
from lane.plan.pool import PoolPlan, lay_pool, shared_buffers
from lane.plan.step import Part
from lane.quant.registry import format_named
from lane.schedule.buffers import Buffer, Fill
from lane.schedule.schedule import Schedule

Words = npt.NDArray[np.int64]

SHORT_CONTEXTS = (256, 512)  # to estimate a long one from; rows of them need no padding

_ARRAY_COLUMNS = ("plain", "words", "second", "scales", "sums")
_SPACE_NUMBER = {space: number for number, space in enumerate(Space)}
_ELEM_NUMBER = {elem: number for number, elem in enumerate(Elem)}


class DeviceError(LaneError):
    """A plan that the device cannot run: a fault of a stage, not of the user's."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes the device holds, by part. `checkpoint` is the mapped file, read in place."""

    checkpoint: int
    caches: int
    constants: int
    io: int
    arena: int

    def parts(self) -> Mapping[str, int]:
        """The parts by name."""
        return {name: getattr(self, name) for name in self.__slots__}


class CpuDevice:
    """One model on the CPU, one sequence at a time."""

    def __init__(self, checkpoint: Checkpoint, lane: Lane, threads: int | None = None, isa: str | None = None) -> None:
        if _core.spec_hash() != spec_hash():
            raise DeviceError(
                f"cpu: the extension was built for launch records {_core.spec_hash()}, "
                f"lane's are {spec_hash()}: rebuild it"
            )
        _check_memory(checkpoint, lane)
        self.lane = lane
        self.context = lane.model.context
        self.threads = threads or len(os.sched_getaffinity(0))
        self._checkpoint = checkpoint
        self._program = _core.CpuProgram(self.threads, list(Numerics).index(lane.numerics), isa)
        self._matrices: dict[Rows, int] = {}
        self._forms: dict[tuple[int, Head], int] = {}
        self._arena_bytes = 0
        self._has_run = False
        self._pool = self._lay_pool()
        io = self._decode.schedule.io
        self._steps = _core.CpuSteps(
            self._program, *(self._pool.named(name).offset_bytes for name in (io.token, "tokens", io.pos))
        )

    # --- running ------------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Forgets all carried state: the next step is at position 0."""
        for part in self._pool.parts if self._has_run else ():  # before the first step all is zero, and most untouched
            if part.buffer.fill is Fill.ZERO:
                self._program.zero_pool(part.offset_bytes, part.size_bytes)
        self._has_run = False
        self._write_param(self._decode.schedule.io.pos, [0])

    def prepare(self, count: int, largest: int | None = None) -> None:
        """Compiles the forms that `count` tokens and then decoding need, so that their first run is like any other."""
        for rows in dict.fromkeys((*cut(count, largest), 1)):
            self._form(rows, Head.LAST)

    def prefill(self, tokens: Sequence[int], pos: int, largest: int | None = None) -> None:
        """Runs tokens from position `pos` on; afterwards `logits` are the last one's and `token` its arg-max."""
        self.prepare(len(tokens), largest)
        self._has_run = True
        self._steps.prefill(np.array(tokens, np.int32), pos, MAX_CHUNK_ROWS if largest is None else largest)
        self._checkpoint.require_whole()

    def all_logits(self, tokens: Sequence[int], largest: int | None = None) -> F32:
        """Logits at every position (positions × vocabulary) of a sequence run from position 0."""
        self.reset()
        out = np.empty((len(tokens), self.vocab), np.float32)
        at = 0
        for rows in cut(len(tokens), largest):
            self._set_inputs(tokens[at : at + rows], at)
            if rows == 1:
                self._run(1, Head.LAST)
                out[at] = self.logits()
            else:
                self._run(rows, Head.ALL, [out[at : at + rows].reshape(-1)])
            at += rows
        return out

    def decode(self, steps: int = 1) -> None:
        """Runs the decode step `steps` times, each on the token that the one before chose."""
        self.prepare(0)
        self._has_run = True
        self._steps.decode(steps)
        self._checkpoint.require_whole()

    def logits(self) -> F32:
        """The last step's logits of its last row."""
        raw = self._program.read_pool(self._pool.named(self._decode.schedule.io.logits).offset_bytes, self.vocab * 4)
        return np.asarray(raw).view(np.float32)

    def token(self) -> int:
        """The arg-max of the last step."""
        return self._read_param(self._decode.schedule.io.token)

    def position(self) -> int:
        """The position of the next token."""
        return self._read_param(self._decode.schedule.io.pos)

    def set_token(self, token: int) -> None:
        """Chooses the token that the next decode step takes."""
        self._write_param(self._decode.schedule.io.token, [token])

    def profile(self, rows: int, pos: int = 0) -> list[tuple[Launch, int]]:
        """Each launch of the form over `rows` rows from position `pos` on, and its nanoseconds in one run."""
        self._set_inputs([0] * rows, pos)
        self._has_run = True
        times = self._program.profile(self._form(rows, Head.LAST), [])
        launches = self.lane.form(rows).schedule.executed()
        return [(item.launch, int(ns)) for item, ns in zip(launches, times, strict=True)]

    def memory(self) -> Memory:
        """Bytes held, by part."""
        return Memory(
            checkpoint=self._checkpoint.bytes,
            caches=self._pool.filled_bytes(Fill.ZERO),
            constants=self._pool.filled_bytes(Fill.CONSTANT),
            io=self._pool.filled_bytes(Fill.PARAM, Fill.COMPUTED),
            arena=self._arena_bytes,
        )

    @property
    def vocab(self) -> int:
        """Width of a row of logits."""
        return self._decode.graph.tensors[self._decode.schedule.io.logits].cols

    # --- loading ------------------------------------------------------------------------------------------------------

    @property
    def _decode(self) -> Form:
        return self.lane.form(1)

    def _lay_pool(self) -> PoolPlan:
        pool = lay_pool(shared_buffers(self._decode.schedule))
        require_memory(f"cpu: {self.context} positions", pool.total_bytes)
        self._program.set_pool(pool.total_bytes)
        for part in pool.parts:
            placement = part.buffer.tensor.placement
            if isinstance(placement, Values):
                array = np.ascontiguousarray(placement.array, np.float32).reshape(-1)
                self._program.write_pool(part.offset_bytes, array.view(np.uint8))
        return pool

    def _run(self, rows: int, head: Head, externals: Sequence[F32] = ()) -> None:
        form = self._form(rows, head)
        self._has_run = True
        self._program.run(form, list(externals))
        self._checkpoint.require_whole()

    def _form(self, rows: int, head: Head) -> int:
        key = (rows, Head.LAST if rows == 1 else head)
        if key not in self._forms:
            form = self.lane.form(*key)
            arena_bytes = max(self._arena_bytes, form.arena.total_bytes)
            require_memory(f"cpu: {self.context} positions", self._pool.total_bytes + arena_bytes)
            self._forms[key] = self._add_form(form)
            if key[1] is Head.LAST:
                self._steps.add(rows, self._forms[key])
            self._arena_bytes = arena_bytes
        return self._forms[key]

    def _add_form(self, form: Form) -> int:
        schedule = form.schedule
        index = {name: i for i, name in enumerate(schedule.buffers)}
        rows = [self._table_row(buffer, schedule, form.arena) for buffer in schedule.buffers.values()]
        words: list[int] = []
        for item in schedule.executed():
            words.append(KIND_NUMBER[type(item.launch)])
            words += item.launch.encode(index.__getitem__)
        table: Words = np.array(rows, np.int64).reshape(-1, len(COLUMNS))
        return int(self._program.add_form(table, np.array(words, np.int64), form.arena.total_bytes))

    def _table_row(self, buffer: Buffer, schedule: Schedule, arena: ArenaPlan) -> list[int]:
        space, columns = self._place(buffer, schedule, arena)
        arrays = (columns.get(column, -1) for column in _ARRAY_COLUMNS)
        return [_SPACE_NUMBER[space], _ELEM_NUMBER[buffer.elem], buffer.elems, *arrays]

    def _place(self, buffer: Buffer, schedule: Schedule, arena: ArenaPlan) -> tuple[Space, Mapping[str, int]]:
        if buffer.base is not None:
            return self._place_alias(buffer, schedule, arena)
        if isinstance(buffer.tensor.placement, Rows):
            return Space.MATRIX, {"plain": self._matrix(buffer.tensor.placement)}
        if buffer.name == schedule.io.logits and schedule.head is Head.ALL and schedule.rows > 1:
            return Space.EXTERNAL, {"plain": 0}
        if buffer.fill is Fill.COMPUTED and buffer.name != schedule.io.logits:
            return Space.ARENA, {part.value: arena.offset(buffer.name, part) for part in Part}
        return Space.POOL, {"plain": self._pool.offset(buffer)}

    def _place_alias(self, buffer: Buffer, schedule: Schedule, arena: ArenaPlan) -> tuple[Space, Mapping[str, int]]:
        assert buffer.base is not None
        space, base = self._place(schedule.buffers[buffer.base], schedule, arena)
        steps = {
            "plain": (ELEM_BYTES[buffer.elem], 1),
            "words": (1, 1),
            "second": (1, 1),
            "scales": (4, 32),
            "sums": (2, 16),
        }
        return space, {c: at + buffer.offset // steps[c][1] * steps[c][0] for c, at in base.items() if at >= 0}

    def _matrix(self, rows: Rows) -> int:
        if rows not in self._matrices:
            format = format_named(rows.format)
            row_bytes = rows.cols // format.block_elems * format.block_bytes
            runs = []
            for run in rows.runs:
                data = self._checkpoint.data(run.tensor)
                runs.append((data[run.first * row_bytes : (run.first + run.rows) * row_bytes], run.rows))
            try:
                self._matrices[rows] = int(self._program.add_matrix(format.type_id, rows.rows, rows.cols, runs))
            except LaneError as error:
                raise type(error)(f"cpu: tensor '{rows.runs[0].tensor}' ({rows.format}): {error}") from None
        return self._matrices[rows]

    def _set_inputs(self, tokens: Sequence[int], pos: int) -> None:
        io = self._decode.schedule.io
        self._write_param(io.token if len(tokens) == 1 else "tokens", tokens)
        self._write_param(io.pos, [pos])

    def _write_param(self, name: str, values: Sequence[int]) -> None:
        self._program.write_pool(self._pool.named(name).offset_bytes, np.array(values, np.int32).view(np.uint8))

    def _read_param(self, name: str) -> int:
        return int(np.asarray(self._program.read_pool(self._pool.named(name).offset_bytes, 4)).view(np.int32)[0])


def _check_memory(checkpoint: Checkpoint, lane: Lane) -> None:
    """Refuses a context beyond the usual whose pool the machine cannot hold, before tables of that length are made.

    A pool grows with the context in a straight line, but for the padding of its parts: two short ones give the slope.
    """
    context = lane.model.context
    if context <= LONGEST_CONTEXT:
        return
    short, longer = (_pool_bytes(checkpoint, lane.numerics, positions) for positions in SHORT_CONTEXTS)
    wanted = (longer - short) // (SHORT_CONTEXTS[1] - SHORT_CONTEXTS[0]) * context
    require_memory(f"cpu: {context} positions", wanted)


def _pool_bytes(checkpoint: Checkpoint, numerics: Numerics, context: int) -> int:
    decode = Lane(recognise(checkpoint, context), numerics).form(1).schedule
    return lay_pool(shared_buffers(decode)).total_bytes
