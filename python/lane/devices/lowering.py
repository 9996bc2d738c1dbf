"""Lowering: a plan as the plain numbers that the CPU device takes.

Enters: a plan and the checkpoint that it was made of. Leaves: an `Image`: matrices by their places in the files, forms
as tables and records. Nothing is read of the weights.
"""

from __future__ import annotations

import numpy as np

from lane.checkpoint.gguf import Checkpoint
from lane.devices.cpu import records, table
from lane.devices.device import DeviceError
from lane.devices.image import Image, ImageConstant, ImageForm, ImageIo, ImageMatrix, ImagePart, ImageRun
from lane.graph.graph import Head
from lane.graph.tensor import Rows, Values
from lane.launch.record import Numerics
from lane.launch.spec import spec_hash
from lane.plan.plan import FormPlan, Plan
from lane.plan.pool import CHUNK_TOKENS, PoolPart
from lane.quant.registry import format_named
from lane.schedule.buffers import Fill


def lower_plan(checkpoint: Checkpoint, plan: Plan) -> Image:
    """The image of all forms of a plan, which was made for a CPU; it may run on fewer threads, or on more."""
    if plan.cpu is None:
        raise DeviceError("cpu: a plan without the scratch of its launches, allowed one made for a CPU")
    identity = checkpoint.identity()
    io = plan.decode.schedule.io
    return Image(
        spec_hash=spec_hash(),
        numerics=list(Numerics).index(plan.numerics),
        context=plan.model.context,
        vocab=plan.vocab,
        parts=tuple(map(ImagePart, identity.part_bytes, checkpoint.file.data_offsets)),
        head_sha256=identity.head_sha256,
        matrices=tuple(_matrix(checkpoint, rows) for rows in plan.matrices),
        pool_bytes=plan.pool.total_bytes,
        constants=tuple(map(_constant, plan.pool.parts)),
        state_bytes=plan.state.total_bytes,
        carried=tuple((p.offset_bytes, p.size_bytes) for p in plan.state.parts if p.buffer.fill is Fill.ZERO),
        io=ImageIo(*(plan.state.named(name).offset_bytes for name in (io.token, CHUNK_TOKENS, io.pos, io.logits))),
        forms=tuple(map(_form, plan.forms.values())),
    )


def _matrix(checkpoint: Checkpoint, rows: Rows) -> ImageMatrix:
    runs = []
    for run in rows.runs:
        tensor = checkpoint.tensors[run.tensor]
        start = checkpoint.file.data_offsets[tensor.part] + tensor.offset + run.first * rows.row_bytes
        runs.append(ImageRun(tensor.part, start, run.rows * rows.row_bytes, run.rows))
    return ImageMatrix(format_named(rows.format).type_id, rows.rows, rows.cols, tuple(runs))


def _constant(part: PoolPart) -> ImageConstant:
    placement = None if part.buffer.tensor is None else part.buffer.tensor.placement
    assert isinstance(placement, Values), f"'{part.buffer}' has no values"
    return ImageConstant(part.offset_bytes, np.ascontiguousarray(placement.array, np.float32))


def _form(form: FormPlan) -> ImageForm:
    key = form.key
    return ImageForm(key.rows, key.head is Head.ALL, key.sequences, form.arena.total_bytes, table(form), records(form))
