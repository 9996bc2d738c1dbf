"""Link: from a step graph's ops to launches, in program order, each with the ops it computes.

Enters: a verified graph and the numerics. Leaves: `Linked` launches. Promise: every op is computed by some launch, or
the error says which op has none and why; a tensor that projections read quantised is quantised once, before its first
such reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lane.errors import UnsupportedError
from lane.graph import ops as g
from lane.graph.graph import StepGraph
from lane.graph.tensor import Role, Rows, Tensor
from lane.launch import attention, data, elementwise, norm, projection, step
from lane.launch.fields import Access, Mode, Storage
from lane.launch.quantised import QUANT_BLOCK_ELEMS
from lane.launch.record import Dest, Launch, Numerics
from lane.launch.table import Elem

FLOAT_FORMATS = ("F32", "F16", "BF16")  # multiply float activations under every numerics


@dataclass(frozen=True, slots=True)
class Linked:
    """A launch and the indices of the graph's ops that it computes, sorted (none: a form another launch needs).

    `made` are tensors that are none of the graph's and that it writes first. `scratch` names the arrays that it has for
    itself while it runs, `counters` those that it leaves as it finds them.
    """

    launch: Launch
    ops: tuple[int, ...]
    made: tuple[Tensor, ...] = ()
    scratch: tuple[str, ...] = ()
    counters: tuple[str, ...] = ()

    def accesses(self) -> Iterator[Access]:
        """Every tensor touched, those that the launch has for itself last."""
        yield from self.launch.accesses()
        for name in self.scratch:
            yield Access(name, Storage.PLAIN, Mode.WRITE)
        for name in self.counters:
            yield Access(name, Storage.PLAIN, Mode.UPDATE, elems=(Elem.I32,))


class Linker:
    """Links one graph; `link` is its whole use."""

    def __init__(self, graph: StepGraph, numerics: Numerics) -> None:
        self.graph = graph
        self.numerics = numerics
        self.linked: list[Linked] = []
        self._quantised: set[str] = set()
        self._view_of: dict[str, tuple[str, int]] = {}

    def tensor(self, name: str) -> Tensor:
        """A tensor of the graph."""
        return self.graph.tensors[name]

    def emit(self, launch: Launch, *ops: int) -> None:
        """Appends a launch that computes `ops`."""
        self.linked.append(Linked(launch, tuple(sorted(ops))))

    def view(self, out: str, src: str, offset: int, op: int) -> None:
        """Makes `out` a view of `src` from element `offset` on."""
        base, start = self._view_of.get(src, (src, 0))
        self._view_of[out] = (base, start + offset)
        self.emit(data.View(src, out, offset, self.tensor(out).elems), op)

    def no_launch(self, op: g.Op, why: str) -> UnsupportedError:
        """The error for an op without a launch."""
        index = self.graph.ops.index(op)
        return UnsupportedError(f"link: no launch for op {index} '{op.kind}' writing '{op.written()[0]}': {why}")

    def quantise(self, name: str, reader: g.Op) -> None:
        """Sees to it that the tensor (for a view: the tensor it lies in) has its quantised form."""
        base, start = self._view_of.get(name, (name, 0))
        for tensor, what, found in (
            (self.tensor(name), "width", self.tensor(name).cols),
            (self.tensor(base), "length", self.tensor(base).elems),
            (self.tensor(name), "start in its tensor", start),
        ):
            if found % QUANT_BLOCK_ELEMS:
                why = (
                    f"reads '{tensor.name}' quantised; its {what} is {found}, allowed a multiple of {QUANT_BLOCK_ELEMS}"
                )
                raise self.no_launch(reader, why)
        if base not in self._quantised:
            self._quantised.add(base)
            self.emit(projection.Quant(base, base, self.tensor(base).elems))


def link(graph: StepGraph, numerics: Numerics) -> tuple[Linked, ...]:
    """The launches of a graph under a numerics; UnsupportedError names an op that has none."""
    linker = Linker(graph, numerics)
    for index, op in enumerate(graph.ops):
        rule = _RULES.get(type(op))
        if rule is None:
            raise linker.no_launch(op, "lane has no launch kind for it yet")
        rule(linker, op, index)
    return tuple(linker.linked)


def _gather(s: Linker, op: g.Gather, i: int) -> None:
    if not isinstance(s.tensor(op.table).placement, Rows):
        raise s.no_launch(op, f"table '{op.table}' has no checkpoint rows")
    s.emit(data.Gather(op.table, op.index, op.out, op.rows, s.tensor(op.out).cols, op.scale), i)


def _read_row(s: Linker, op: g.ReadRow, i: int) -> None:
    x = s.tensor(op.x)
    if x.role is Role.ACTIVATION:
        s.view(op.out, op.x, op.row * x.cols, i)
    else:  # a table may be written in place before the row's last reader: taken by copy
        s.emit(data.Slice(op.x, op.out, 1, x.elems, op.row * x.cols, x.cols), i)


def _write_rows(s: Linker, op: g.WriteRows, i: int) -> None:
    src = s.tensor(op.src)
    row = op.row if op.pos is None else None
    s.emit(data.SetRow(op.table, op.pos, op.src, src.cols, src.rows, row), i)


def _slice(s: Linker, op: g.Slice, i: int) -> None:
    groups = s.tensor(op.x).elems // op.every
    s.emit(data.Slice(op.x, op.out, groups, op.every, op.start, op.width), i)


def _matmul(s: Linker, op: g.MatMul, i: int) -> None:
    if op.bias is not None:
        raise s.no_launch(op, "a projection with its bias inside is a fused class; gemv takes none")
    x, w = s.tensor(op.x), s.tensor(op.w)
    assert isinstance(w.placement, Rows)
    quant = s.numerics is not Numerics.PRECISE and w.placement.format not in FLOAT_FORMATS
    if quant:
        s.quantise(op.x, op)
    s.emit(projection.Gemv(op.x, op.w, Dest(op.out), x.cols, w.rows, x.rows, quant), i)


def _rms_norm(s: Linker, op: g.RmsNorm, i: int) -> None:
    s.emit(norm.Norm(op.x, op.w, None, op.out, s.tensor(op.x).elems // op.width, op.width, op.eps), i)


def _layer_norm(s: Linker, op: g.LayerNorm, i: int) -> None:
    units = s.tensor(op.x).elems // op.width
    s.emit(norm.Norm(op.x, op.w, op.bias, op.out, units, op.width, op.eps, centre=True), i)


def _binary(s: Linker, op: g.Binary, i: int) -> None:
    a, b = s.tensor(op.a), s.tensor(op.b)
    s.emit(elementwise.Binary(op.op, op.a, op.b, op.out, a.elems, a.cols, row=b.rows == 1 and a.rows != 1), i)


def _scale(s: Linker, op: g.Scale, i: int) -> None:
    s.emit(elementwise.Scale(op.x, op.out, s.tensor(op.x).elems, op.c), i)


def _unary(s: Linker, op: g.Unary, i: int) -> None:
    s.emit(elementwise.Unary(op.op, op.x, op.out, s.tensor(op.x).elems, op.c), i)


def _swiglu(s: Linker, op: g.SwiGlu, i: int) -> None:
    s.emit(elementwise.SwiGlu(op.gate, op.up, op.out, s.tensor(op.gate).elems), i)


def _rotate(s: Linker, op: g.Rotate, i: int) -> None:
    x = s.tensor(op.x)
    per_row, half = x.cols // op.hd, s.tensor(op.cos).cols
    y, heads = Dest(op.out), x.rows * per_row
    s.emit(attention.Rope(op.x, op.cos, op.sin, op.pos, y, heads, per_row, op.hd, half, op.layout), i)


def _attention(s: Linker, op: g.Attention, i: int) -> None:
    for given, what in (
        (op.value_start, "values inside the keys"),
        (op.q_rest, "split queries and keys"),
        (op.gate, "an output gate"),
    ):
        if given is not None:
            raise s.no_launch(op, f"lane has no launch kind for attention with {what} yet")
    s.emit(
        attention.Attention(
            op.q,
            op.keys,
            op.values,
            op.pos,
            op.sinks,
            op.out,
            rows=s.tensor(op.q).rows,
            heads=op.heads,
            group=op.heads // op.kv_heads,
            hd=op.hd,
            vd=op.vd,
            len=s.tensor(op.keys).rows,
            scale=op.scale,
            window=op.window,
            cap=op.cap,
        ),
        i,
    )


def _argmax(s: Linker, op: g.ArgMax, i: int) -> None:
    x = s.tensor(op.logits)
    s.emit(step.ArgMax(op.logits, op.token, op.pos, x.cols, x.rows, op.advance), i)


_RULES: Mapping[type[g.Op], Callable[[Linker, Any, int], None]] = {
    g.Gather: _gather,
    g.ReadRow: _read_row,
    g.WriteRows: _write_rows,
    g.Slice: _slice,
    g.MatMul: _matmul,
    g.RmsNorm: _rms_norm,
    g.LayerNorm: _layer_norm,
    g.Binary: _binary,
    g.Scale: _scale,
    g.Unary: _unary,
    g.SwiGlu: _swiglu,
    g.Rotate: _rotate,
    g.Attention: _attention,
    g.ArgMax: _argmax,
}
