"""Verification of a step graph, run after lifting and after every pass."""

from __future__ import annotations

from lane.graph.graph import StepGraph
from lane.graph.ops import ArgMax
from lane.graph.ops.base import GraphError
from lane.graph.tensor import Role


def verify(graph: StepGraph) -> None:
    """Raises `GraphError` unless the graph keeps its rules.

    Every tensor read is declared and, if an activation, written before; activations are written once and whole, states
    only updated, constants and tokens never; every shape is what the op's rule infers; the arg-max comes last and
    nowhere else.
    """
    written: set[str] = set()
    for op in graph.ops:
        for name in op.read():
            tensor = graph.tensors.get(name)
            if tensor is None:
                raise GraphError(f"verify: op '{op.kind}' reads '{name}', which is not declared")
            if tensor.role is Role.ACTIVATION and name not in written:
                raise GraphError(f"verify: op '{op.kind}' reads '{name}' before any op writes it")
        shape = op.infer(graph.tensors)
        for name in op.written():
            _check_write(graph, op.kind, name, name in op.read(), written)
        if shape is not None:
            out = graph.tensors[op.written()[0]]
            if (out.rows, out.cols) != shape:
                raise GraphError(f"verify: '{out.name}' is {out.rows}x{out.cols}, its op infers {shape[0]}x{shape[1]}")
        written.update(op.written())
    _check_io(graph, written)


def _check_write(graph: StepGraph, kind: str, name: str, updated: bool, written: set[str]) -> None:
    tensor = graph.tensors.get(name)
    if tensor is None:
        raise GraphError(f"verify: op '{kind}' writes '{name}', which is not declared")
    if updated:
        allowed = tensor.role is Role.STATE or (tensor.role is Role.PARAM and kind == ArgMax.kind)
        if not allowed:
            raise GraphError(f"verify: op '{kind}' updates '{name}', a {tensor.role.value}; allowed: state")
    elif tensor.role is not Role.ACTIVATION:
        raise GraphError(f"verify: op '{kind}' writes '{name}', a {tensor.role.value}; allowed: activation")
    elif name in written:
        raise GraphError(f"verify: op '{kind}' writes '{name}' a second time")


def _check_io(graph: StepGraph, written: set[str]) -> None:
    for name in (graph.io.tokens, graph.io.token, graph.io.pos):
        if name not in graph.tensors or graph.tensors[name].role is not Role.PARAM:
            raise GraphError(f"verify: the step's '{name}' is no declared param")
    if graph.io.logits not in written:
        raise GraphError(f"verify: no op writes the step's logits '{graph.io.logits}'")
    closing = [i for i, op in enumerate(graph.ops) if isinstance(op, ArgMax)]
    if closing != [len(graph.ops) - 1]:
        raise GraphError(f"verify: arg-max at ops {closing}, allowed only at the last, {len(graph.ops) - 1}")
