"""Lowering: a plan as the plain numbers that the CPU device takes.

Enters: a plan and the checkpoint that it was made of. Leaves: tables and records of its forms, its constants; and all
of it as one `Image`, matrices by their places in the files. Nothing is read of the matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from lane.checkpoint.gguf import Checkpoint
from lane.devices.device import DeviceError
from lane.devices.image import Image, ImageConstant, ImageForm, ImageIo, ImageMatrix, ImagePart, ImageRun, Words
from lane.graph.graph import Head
from lane.graph.tensor import Rows, Values
from lane.launch.record import F32, Numerics
from lane.launch.spec import spec_hash
from lane.launch.table import COLUMNS
from lane.launch.words import buffer_row, launch_words
from lane.plan.cpu_target import CpuTarget
from lane.plan.plan import FormPlan, Plan
from lane.plan.pool import CHUNK_TOKENS, PoolPart, PoolPlan
from lane.quant.registry import format_named
from lane.schedule.buffers import Fill


def lower_plan(checkpoint: Checkpoint, plan: Plan) -> Image:
    """The image of all forms of a plan; DeviceError unless it was made for a CPU."""
    if not isinstance(plan.target, CpuTarget):
        raise DeviceError(f"cpu: a plan made for {plan.target}, allowed one made for a CPU")
    identity = checkpoint.identity()
    io = plan.decode.schedule.io
    return Image(
        spec_hash=spec_hash(),
        numerics=list(Numerics).index(plan.numerics),
        context=plan.model.context,
        vocab=plan.vocab,
        threads=plan.target.threads,
        parts=tuple(map(ImagePart, identity.part_bytes, checkpoint.file.data_offsets)),
        head_sha256=identity.head_sha256,
        matrices=tuple(_matrix(checkpoint, rows) for rows in plan.matrices),
        pool_bytes=plan.pool.total_bytes,
        constants=tuple(ImageConstant(offset, values) for offset, values in constants(plan.pool.parts)),
        state_bytes=plan.state.total_bytes,
        carried=tuple(carried_ranges(plan.state)),
        io=ImageIo(*(plan.state.named(name).offset_bytes for name in (io.token, CHUNK_TOKENS, io.pos, io.logits))),
        forms=tuple(map(_form, plan.forms.values())),
    )


def _matrix(checkpoint: Checkpoint, rows: Rows) -> ImageMatrix:
    format = format_named(rows.format)
    runs = []
    for run in rows.runs:
        tensor = checkpoint.tensors[run.tensor]
        start = checkpoint.file.data_offsets[tensor.part] + tensor.offset + run.first * rows.row_bytes
        runs.append(ImageRun(tensor.part, start, run.rows * rows.row_bytes, run.rows))
    return ImageMatrix(format.type_id, rows.rows, rows.cols, tuple(runs))


def constants(parts: Iterable[PoolPart]) -> Iterator[tuple[int, F32]]:
    """Where in the pool each constant begins, and its values. What else is there is zero before the first step."""
    for part in parts:
        placement = None if part.buffer.tensor is None else part.buffer.tensor.placement
        if isinstance(placement, Values):
            yield part.offset_bytes, np.ascontiguousarray(placement.array, np.float32).reshape(-1)


def _form(form: FormPlan) -> ImageForm:
    key = form.key
    return ImageForm(key.rows, key.head is Head.ALL, key.sequences, form.arena.total_bytes, table(form), records(form))


def table(form: FormPlan) -> Words:
    """The buffer table of a form."""
    rows = [
        buffer_row(form.places[name].space, buffer.elem, buffer.elems, form.places[name].offsets)
        for name, buffer in form.schedule.buffers.items()
    ]
    return np.array(rows, np.int64).reshape(-1, len(COLUMNS))


def records(form: FormPlan) -> Words:
    """Each launch's kind, scratch and record, one after the other."""
    index = {name: i for i, name in enumerate(form.schedule.buffers)}
    launches = ((item.launch, next(iter(item.scratch), None)) for item in form.schedule.executed())
    return np.array(launch_words(launches, index.__getitem__), np.int64)


def carried_ranges(state: PoolPlan) -> list[tuple[int, int]]:
    """Offset and bytes of what a sequence begins with as zeros."""
    return [(part.offset_bytes, part.size_bytes) for part in state.parts if part.buffer.fill is Fill.ZERO]
