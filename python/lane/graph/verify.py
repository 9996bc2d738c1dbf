"""Verification of a step graph, run after lifting and after every pass."""

from __future__ import annotations

from lane.graph.graph import StepGraph
from lane.graph.ops import ArgMax, Op, WriteRows
from lane.graph.ops.base import GraphError
from lane.graph.tensor import Role, Tensor


def verify(graph: StepGraph) -> None:
    """Raises `GraphError` unless the graph keeps its rules.

    Every tensor read is declared and, if an activation, written before; activations are written once, whole or, where
    rows are gathered in them, each row by itself; states are only updated, constants and tokens never; every shape is
    what the op's rule infers; sequences share no input or output; their arg-maxes come last and nowhere else.
    """
    verifier = _Verifier(graph)
    for op in graph.ops:
        verifier.check(op)
    _check_io(graph, verifier.written)


class _Verifier:
    """Walks the ops in order. `written` are the activations that are there whole, `rows` those of which rows are."""

    def __init__(self, graph: StepGraph) -> None:
        self.graph = graph
        self.written: set[str] = set()
        self.rows: dict[str, set[int]] = {}

    def check(self, op: Op) -> None:
        """One op, given those before it."""
        stack = self._stack(op)
        for name in op.read():
            self._check_read(op, name, stack)
        shape = op.infer(self.graph.tensors)
        for name in op.written():
            if name != stack:
                self._check_write(op, name)
        if shape is not None:
            out = self.graph.tensors[op.written()[0]]
            if (out.rows, out.cols) != shape:
                raise GraphError(f"verify: '{out.name}' is {out.rows}x{out.cols}, its op infers {shape[0]}x{shape[1]}")
        if stack is None:
            self.written.update(op.written())

    def _stack(self, op: Op) -> str | None:
        """The activation into which the op writes rows at a fixed place, which it thereby has; None for any other."""
        if not isinstance(op, WriteRows) or op.pos is not None:
            return None
        table = self.graph.tensors.get(op.table)
        if table is None or table.role is not Role.ACTIVATION or op.src not in self.graph.tensors:
            return None
        rows = range(op.row, op.row + self.graph.tensors[op.src].rows)
        known = self.rows.setdefault(op.table, set())
        if op.table in self.written or not known.isdisjoint(rows):
            raise GraphError(f"verify: op '{op.kind}' writes rows from {op.row} of '{op.table}' a second time")
        known.update(rows)
        if len(known) == table.rows:
            self.written.add(op.table)
        return op.table

    def _check_read(self, op: Op, name: str, stack: str | None) -> None:
        tensor = self.graph.tensors.get(name)
        if tensor is None:
            raise GraphError(f"verify: op '{op.kind}' reads '{name}', which is not declared")
        if tensor.role is not Role.ACTIVATION or name in self.written or name == stack:
            return
        if name in self.rows:
            missing = sorted(set(range(tensor.rows)) - self.rows[name])
            raise GraphError(f"verify: op '{op.kind}' reads '{name}' before any op writes its rows {missing}")
        raise GraphError(f"verify: op '{op.kind}' reads '{name}' before any op writes it")

    def _check_write(self, op: Op, name: str) -> None:
        tensor = self.graph.tensors.get(name)
        if tensor is None:
            raise GraphError(f"verify: op '{op.kind}' writes '{name}', which is not declared")
        if name in op.read():
            _check_update(op, tensor)
        elif tensor.role is not Role.ACTIVATION:
            raise GraphError(f"verify: op '{op.kind}' writes '{name}', a {tensor.role.value}; allowed: activation")
        elif name in self.written or name in self.rows:
            raise GraphError(f"verify: op '{op.kind}' writes '{name}' a second time")


def _check_update(op: Op, tensor: Tensor) -> None:
    if tensor.role is Role.STATE or (tensor.role is Role.PARAM and isinstance(op, ArgMax)):
        return
    raise GraphError(f"verify: op '{op.kind}' updates '{tensor.name}', a {tensor.role.value}; allowed: state")


def _check_io(graph: StepGraph, written: set[str]) -> None:
    sequences = graph.io.sequences
    for name in (graph.io.tokens, *(n for s in sequences for n in (s.token, s.pos))):
        if name not in graph.tensors or graph.tensors[name].role is not Role.PARAM:
            raise GraphError(f"verify: the step's '{name}' is no declared param")
    for sequence in sequences:
        if sequence.logits not in written:
            raise GraphError(f"verify: no op writes the step's logits '{sequence.logits}'")
    named = [n for s in sequences for n in (s.token, s.pos, s.logits)]
    shared = sorted({n for n in named if named.count(n) > 1})
    if shared:
        raise GraphError(f"verify: sequences of the step share {shared}, allowed inputs and outputs of their own")
    first = len(graph.ops) - len(sequences)
    closing = [i for i, op in enumerate(graph.ops) if isinstance(op, ArgMax)]
    if closing != list(range(first, len(graph.ops))):
        where = f"the last, {first}" if len(sequences) == 1 else f"the last {len(sequences)}, from {first}"
        raise GraphError(f"verify: arg-max at ops {closing}, allowed only at {where}")
    closed = [(op.logits, op.token, op.pos) for op in graph.ops[first:] if isinstance(op, ArgMax)]
    if closed != [(s.logits, s.token, s.pos) for s in sequences]:
        raise GraphError(f"verify: arg-maxes close {closed}, allowed the step's sequences, in their order")
