"""Buffers: one per tensor that a schedule's launches touch.

Enters: the graph's tensors and the linked launches. Leaves: for every tensor its length, element type, how it is filled
before the first step, and which forms exist. A view is an alias of another buffer at an offset.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lane.errors import LaneError
from lane.graph.graph import StepGraph
from lane.graph.tensor import Role, Rows, Tensor
from lane.launch.data import View
from lane.launch.record import Form
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
    ALIAS = "alias"  # lies in another buffer


_FILLS = {
    Role.PARAM: Fill.PARAM,
    Role.STATE: Fill.ZERO,
    Role.CONSTANT: Fill.CONSTANT,
    Role.ACTIVATION: Fill.COMPUTED,
}


@dataclass(frozen=True, slots=True)
class Buffer:
    """One array of the schedule.

    `base` and `offset` (in elements) say where an alias lies; `plain` and `quant` which forms exist; a matrix in
    checkpoint rows has neither. `tensor` is the graph's.
    """

    name: str
    elems: int
    elem: Elem
    fill: Fill
    plain: bool
    quant: bool
    tensor: Tensor
    base: str | None = None
    offset: int = 0

    @property
    def is_matrix(self) -> bool:
        """Whether it is a matrix read in its checkpoint format."""
        return isinstance(self.tensor.placement, Rows)

    def __str__(self) -> str:
        forms = "+".join(f for f, has in (("plain", self.plain), ("quant", self.quant)) if has) or "matrix"
        where = f" = {self.base}+{self.offset}" if self.base is not None else ""
        return f"{self.name} {self.fill.value} {self.elem.value}[{self.elems}] {forms}{where}"


def lay_out(graph: StepGraph, linked: Sequence[Linked]) -> Mapping[str, Buffer]:
    """The buffers of a schedule, in order of first touch."""
    forms: dict[str, set[Form]] = {}
    views: dict[str, tuple[str, int]] = {}  # the tensor that each view lies in, and where
    for item in linked:
        for access in item.launch.accesses():
            if access.name not in graph.tensors:
                raise ScheduleError(f"buffers: launch '{item.launch}' names '{access.name}', bound to no tensor")
            forms.setdefault(access.name, set()).add(access.form)
        if isinstance(item.launch, View):
            base, offset = views.get(item.launch.src, (item.launch.src, 0))
            views[item.launch.out] = (base, offset + item.launch.offset)
    buffers = {name: _buffer(graph.tensors[name], touched, views.get(name)) for name, touched in forms.items()}
    return _share_quantised(buffers)


def _buffer(tensor: Tensor, forms: set[Form], place: tuple[str, int] | None) -> Buffer:
    fill = _FILLS[tensor.role] if place is None else Fill.ALIAS
    plain, quant = Form.PLAIN in forms, Form.QUANT in forms
    return Buffer(tensor.name, tensor.elems, tensor.elem, fill, plain, quant, tensor, *(place or (None, 0)))


def _share_quantised(buffers: dict[str, Buffer]) -> dict[str, Buffer]:
    """A view read quantised lies in its tensor's quantised form: the tensor must have one."""
    for buffer in list(buffers.values()):
        if buffer.base is not None and buffer.quant and not buffers[buffer.base].quant:
            raise ScheduleError(
                f"buffers: view '{buffer.name}' is read quantised, its tensor '{buffer.base}' has no such form"
            )
    return buffers
