"""Images of a lane, for hosts to run: its forms lowered by hand, as the CPU device lowers them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from lane.checkpoint.gguf import Checkpoint
from lane.devices.image import Image, ImageConstant, ImageForm, ImageIo, ImageMatrix, ImagePart, ImageRun
from lane.graph.tensor import Rows, Values
from lane.launch.record import Numerics
from lane.launch.registry import KIND_NUMBER
from lane.launch.spec import spec_hash
from lane.launch.table import Elem, Space
from lane.pipeline import Form, Lane
from lane.plan.pool import PoolPlan, lay_pool, shared_buffers
from lane.plan.step import Part
from lane.quant.registry import format_named
from lane.schedule.buffers import Buffer, Fill
from lane.schedule.schedule import Schedule

_COLUMNS = ("plain", "words", "second", "scales", "sums")
_STEPS = {"plain": (4, 1), "words": (1, 1), "second": (1, 1), "scales": (4, 32), "sums": (2, 16)}


class Lowering:
    """One lane's image in the making."""

    def __init__(self, checkpoint: Checkpoint, lane: Lane) -> None:
        self.checkpoint = checkpoint
        self.lane = lane
        self.decode = lane.form(1)
        shared = shared_buffers(self.decode.schedule)
        self.pool = lay_pool([buffer for buffer in shared if buffer.fill is Fill.CONSTANT])
        self.state = lay_pool([buffer for buffer in shared if buffer.fill is not Fill.CONSTANT])
        self.matrices: dict[Rows, int] = {}

    def image(self, rows: Iterable[int]) -> Image:
        """The image of the forms over so many rows, logits of the last."""
        forms = tuple(self._form(self.lane.form(count)) for count in rows)
        identity = self.checkpoint.identity()
        heads = self.checkpoint.file.data_offsets
        io = self.decode.schedule.io
        carried = [(p.offset_bytes, p.size_bytes) for p in self.state.parts if p.buffer.fill is Fill.ZERO]
        return Image(
            spec_hash=spec_hash(),
            numerics=list(Numerics).index(self.lane.numerics),
            context=self.lane.model.context,
            vocab=self.decode.graph.tensors[io.logits].cols,
            parts=tuple(map(ImagePart, identity.part_bytes, heads)),
            head_sha256=identity.head_sha256,
            matrices=tuple(map(self._matrix, self.matrices)),
            pool_bytes=self.pool.total_bytes,
            constants=tuple(self._constants()),
            state_bytes=self.state.total_bytes,
            carried=tuple(carried),
            io=ImageIo(*(self.state.named(name).offset_bytes for name in (io.token, "tokens", io.pos, io.logits))),
            forms=forms,
        )

    def _constants(self) -> Iterable[ImageConstant]:
        for part in self.pool.parts:
            placement = part.buffer.tensor.placement
            assert isinstance(placement, Values)
            yield ImageConstant(part.offset_bytes, np.ascontiguousarray(placement.array, np.float32))

    def _matrix(self, rows: Rows) -> ImageMatrix:
        format = format_named(rows.format)
        row_bytes = rows.cols // format.block_elems * format.block_bytes
        runs = []
        for run in rows.runs:
            tensor = self.checkpoint.tensors[run.tensor]
            start = self.checkpoint.file.data_offsets[tensor.part] + tensor.offset + run.first * row_bytes
            runs.append(ImageRun(tensor.part, start, run.rows * row_bytes, run.rows))
        return ImageMatrix(format.type_id, rows.rows, rows.cols, tuple(runs))

    def _form(self, form: Form) -> ImageForm:
        schedule = form.schedule
        index = {name: i for i, name in enumerate(schedule.buffers)}
        table = [self._row(buffer, form) for buffer in schedule.buffers.values()]
        records: list[int] = []
        for item in schedule.executed():
            records += [KIND_NUMBER[type(item.launch)], *item.launch.encode(index.__getitem__)]
        arena_bytes = form.arena.total_bytes
        return ImageForm(schedule.rows, False, 1, arena_bytes, np.array(table, np.int64), np.array(records, np.int64))

    def _row(self, buffer: Buffer, form: Form) -> list[int]:
        space, columns = self._place(buffer, form)
        numbers = (list(Space).index(space), list(Elem).index(buffer.elem), buffer.elems)
        return [*numbers, *(columns.get(column, -1) for column in _COLUMNS)]

    def _place(self, buffer: Buffer, form: Form) -> tuple[Space, Mapping[str, int]]:
        schedule: Schedule = form.schedule
        if buffer.base is not None:
            space, base = self._place(schedule.buffers[buffer.base], form)
            return space, {c: at + buffer.offset // _STEPS[c][1] * _STEPS[c][0] for c, at in base.items() if at >= 0}
        placement = buffer.tensor.placement
        if isinstance(placement, Rows):
            return Space.MATRIX, {"plain": self.matrices.setdefault(placement, len(self.matrices))}
        if buffer.fill is Fill.COMPUTED and buffer.name != schedule.io.logits:
            return Space.ARENA, {part.value: form.arena.offset(buffer.name, part) for part in Part}
        shared: tuple[Space, PoolPlan] = (Space.STATE, self.state)
        if buffer.fill is Fill.CONSTANT:
            shared = (Space.POOL, self.pool)
        return shared[0], {"plain": shared[1].offset(buffer)}
