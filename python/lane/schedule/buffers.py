"""Buffers: one per array that a schedule's launches touch.

Enters: the graph's tensors and the linked launches. Leaves: for every tensor its length, element type, how it is filled
before the first step, and which storages exist. A view is an alias of another buffer at an offset. Tensors that link
made, and what launches have for themselves, are buffers as well.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lane.errors import LaneError
from lane.graph.graph import StepGraph
from lane.graph.tensor import Role, Rows, Tensor
from lane.launch.data import View
from lane.launch.fields import Storage
from lane.launch.table import Elem
from lane.link.link import Linked


class ScheduleError(LaneError):
    """A schedule that breaks its own rules: a fault of link or of a schedule pass."""


class Fill(enum.Enum):
    """How a buffer gets its first contents."""

    PARAM = "param"  # by the caller, each step
    ZERO = "zero"  # carried state
    CONSTANT = "constant"  # before the first step
    COMPUTED = "computed"  # by a launch of the step
    LOGITS = "logits"  # by a launch of the step, for the caller: lives on when the step is over
    ALIAS = "alias"  # lies in another buffer
    SCRATCH = "scratch"  # by the one launch that has it, while that runs
    COUNTER = "counter"  # zeroed once; the launch that has it leaves it at zero


_FILLS = {
    Role.PARAM: Fill.PARAM,
    Role.STATE: Fill.ZERO,
    Role.CONSTANT: Fill.CONSTANT,
    Role.ACTIVATION: Fill.COMPUTED,
}


@dataclass(frozen=True, slots=True)
class Buffer:
    """One array of the schedule.

    `base` and `offset` (in elements) say where an alias lies; `plain` and `quant` which storages exist; a matrix in
    checkpoint rows has neither. `tensor` is the graph's (none: what a launch has for itself).
    """

    name: str
    elems: int
    elem: Elem
    fill: Fill
    plain: bool
    quant: bool
    tensor: Tensor | None
    base: str | None = None
    offset: int = 0

    @property
    def rows(self) -> Rows | None:
        """The checkpoint's rows, where it is a matrix read in its format."""
        placement = None if self.tensor is None else self.tensor.placement
        return placement if isinstance(placement, Rows) else None

    @property
    def is_matrix(self) -> bool:
        """Whether it is a matrix read in its checkpoint format."""
        return self.rows is not None

    @property
    def is_step_local(self) -> bool:
        """Whether its bytes are the step's own, and another's when the step is over."""
        return self.fill in (Fill.COMPUTED, Fill.SCRATCH)

    def __str__(self) -> str:
        forms = "+".join(f for f, has in (("plain", self.plain), ("quant", self.quant)) if has) or "matrix"
        where = f" = {self.base}+{self.offset}" if self.base is not None else ""
        return f"{self.name} {self.fill.value} {self.elem.value}[{self.elems}] {forms}{where}"


def lay_out(graph: StepGraph, linked: Sequence[Linked]) -> dict[str, Buffer]:
    """The buffers of a schedule, in order of first touch."""
    tensors = {**graph.tensors, **{tensor.name: tensor for item in linked for tensor in item.made}}
    storages: dict[str, set[Storage]] = {}
    views: dict[str, tuple[str, int]] = {}  # the tensor that each view lies in, and where
    for item in linked:
        for access in item.launch.accesses():
            if access.name not in tensors:
                raise ScheduleError(f"buffers: launch '{item.launch}' names '{access.name}', bound to no tensor")
            storages.setdefault(access.name, set()).add(access.storage)
        if isinstance(item.launch, View):
            base, offset = views.get(item.launch.src, (item.launch.src, 0))
            views[item.launch.out] = (base, offset + item.launch.offset)
    logits = {sequence.logits for sequence in graph.io.sequences}
    buffers = {}
    for name, touched in storages.items():
        fill = Fill.LOGITS if name in logits else _FILLS[tensors[name].role]
        buffers[name] = _buffer(tensors[name], fill, touched, views.get(name))
    _check_views(buffers)
    return buffers


def _buffer(tensor: Tensor, fill: Fill, touched: set[Storage], place: tuple[str, int] | None) -> Buffer:
    if place is not None:
        fill = Fill.ALIAS
    plain, quant = Storage.PLAIN in touched, Storage.QUANT in touched
    return Buffer(tensor.name, tensor.elems, tensor.elem, fill, plain, quant, tensor, *(place or (None, 0)))


def _check_views(buffers: Mapping[str, Buffer]) -> None:
    """A view read quantised lies in its tensor's quantised form: the tensor must have one."""
    for buffer in buffers.values():
        if buffer.base is not None and buffer.quant and not buffers[buffer.base].quant:
            raise ScheduleError(
                f"buffers: view '{buffer.name}' is read quantised, its tensor '{buffer.base}' has no such form"
            )
