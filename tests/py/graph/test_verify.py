"""Verification: every reason for which it refuses a graph, and the builder's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from lane.graph import ops as g
from lane.graph.graph import SequenceIo, StepGraph, StepIo
from lane.graph.ops import GraphError, Op
from lane.graph.tensor import Role
from lane.graph.verify import verify
from tests.py.support.graphs import Step, activation, matrix, ones, param, state


def good() -> StepGraph:
    """An embedding, a norm, a cache's new row, and a head."""
    s = Step()
    table = s.tensor(matrix("table", 20, 32))
    x = s.add(g.Gather(table, s.tokens, "x", 1))
    normed = s.add(g.RmsNorm(x, s.tensor(ones("w", 32)), "normed", 32, 1e-6))
    s.add(g.WriteRows(s.tensor(state("cache", 8, 32)), normed, s.pos))
    return s.close(s.add(g.MatMul(normed, table, "logits")))


def with_op(index: int, op: Op) -> Callable[[StepGraph], StepGraph]:
    return lambda graph: replace(graph, ops=(*graph.ops[:index], op, *graph.ops[index + 1 :]))


def inserted(index: int, op: Op) -> Callable[[StepGraph], StepGraph]:
    return lambda graph: replace(graph, ops=(*graph.ops[:index], op, *graph.ops[index:]))


def without_tensor(name: str) -> Callable[[StepGraph], StepGraph]:
    return lambda graph: replace(graph, tensors={n: t for n, t in graph.tensors.items() if n != name})


def with_shape(name: str, rows: int, cols: int) -> Callable[[StepGraph], StepGraph]:
    return lambda graph: replace(graph, tensors={**graph.tensors, name: activation(name, rows, cols)})


def with_io(**changed: object) -> Callable[[StepGraph], StepGraph]:
    return lambda graph: replace(graph, io=replace(graph.io, **changed))  # type: ignore[arg-type]


def swapped(graph: StepGraph) -> StepGraph:
    gather, norm, *rest = graph.ops
    return replace(graph, ops=(norm, gather, *rest))


def written_at_a_position(graph: StepGraph) -> StepGraph:
    """The norm's output becomes a stack, its row written where `pos` says."""
    return with_op(1, g.WriteRows("normed", "x", "pos"))(graph)


def stacked(*writes: Op) -> Callable[[StepGraph], StepGraph]:
    """A stack of two rows, `writes` in place of the norm, then read by a projection."""

    def spoil(graph: StepGraph) -> StepGraph:
        gather, _, _, head, close = graph.ops
        tensors = {**graph.tensors, "normed": activation("normed", 2, 32), "logits": activation("logits", 2, 20)}
        return replace(graph, tensors=tensors, ops=(gather, *writes, head, close))

    return spoil


def closing_another(graph: StepGraph) -> StepGraph:
    tensors = {**graph.tensors, "other": param("other")}
    return replace(graph, tensors=tensors, ops=(*graph.ops[:-1], g.ArgMax("logits", "other", "pos", 1)))


ROWS = tuple(g.WriteRows("normed", "x", None, row) for row in range(2))

REFUSED: tuple[tuple[Callable[[StepGraph], StepGraph], str], ...] = (
    (without_tensor("w"), "op 'rms_norm' reads 'w', which is not declared"),
    (without_tensor("logits"), "op 'matmul' writes 'logits', which is not declared"),
    (swapped, "op 'rms_norm' reads 'x' before any op writes it"),
    (with_op(1, g.RmsNorm("x", "w", "normed", 5, 1e-6)), "units of 5 values, allowed a divisor of 32"),
    (with_shape("normed", 1, 16), "'normed' is 1x16, its op infers 1x32"),
    (inserted(2, g.Scale("x", "normed", 2.0)), "op 'scale' writes 'normed' a second time"),
    (
        with_op(1, g.RmsNorm("x", "w", "table", 32, 1e-6)),
        "op 'rms_norm' writes 'table', a constant; allowed: activation",
    ),
    (with_op(1, g.RmsNorm("x", "w", "cache", 32, 1e-6)), "op 'rms_norm' writes 'cache', a state; allowed: activation"),
    (with_op(2, g.WriteRows("table", "normed", "pos")), "op 'write_rows' updates 'table', a constant; allowed: state"),
    (with_op(2, g.WriteRows("token", "pos", "pos")), "op 'write_rows' updates 'token', a param; allowed: state"),
    (with_io(tokens="nowhere"), "the step's 'nowhere' is no declared param"),
    (with_io(token="x"), "the step's 'x' is no declared param"),
    (with_io(pos="cache"), "the step's 'cache' is no declared param"),
    (with_io(logits="nowhere"), "no op writes the step's logits 'nowhere'"),
    (lambda graph: replace(graph, ops=graph.ops[:-1]), "arg-max at ops [], allowed only at the last, 3"),
    (inserted(4, g.ArgMax("logits", "token", "pos", 1)), "arg-max at ops [4, 5], allowed only at the last, 5"),
    (closing_another, "arg-maxes close [('logits', 'other', 'pos')], allowed the step's sequences, in their order"),
    (
        with_io(further=(SequenceIo("token", "pos", "logits"),)),
        "sequences of the step share ['logits', 'pos', 'token'], allowed inputs and outputs of their own",
    ),
    (with_io(further=(SequenceIo("nowhere", "pos", "logits"),)), "the step's 'nowhere' is no declared param"),
    (with_io(further=(SequenceIo("token", "pos", "x1"),)), "no op writes the step's logits 'x1'"),
    (stacked(ROWS[1]), "op 'matmul' reads 'normed' before any op writes its rows [0]"),
    (stacked(ROWS[0], ROWS[1], ROWS[0]), "op 'write_rows' writes rows from 0 of 'normed' a second time"),
    (stacked(ROWS[0], ROWS[0]), "op 'write_rows' writes rows from 0 of 'normed' a second time"),
    (
        stacked(ROWS[0], g.Scale("x", "normed", 2.0), ROWS[1]),
        "op 'scale' writes 'normed' a second time",
    ),
    (written_at_a_position, "op 'write_rows' reads 'normed' before any op writes it"),
)


def test_rows_gathered_in_any_order_pass() -> None:
    verify(stacked(ROWS[1], ROWS[0])(good()))


def test_a_good_graph_passes() -> None:
    verify(good())


@pytest.mark.parametrize(("spoil", "why"), REFUSED, ids=[why for _, why in REFUSED])
def test_refuses(spoil: Callable[[StepGraph], StepGraph], why: str) -> None:
    with pytest.raises(GraphError) as caught:
        verify(spoil(good()))
    assert why in str(caught.value)


def test_the_builder_refuses_what_is_not_declared_or_there_already() -> None:
    s = Step()
    x = s.tensor(ones("x", 4))
    with pytest.raises(GraphError, match="op 'scale' reads 'y', which nothing before it declares"):
        s.add(g.Scale("y", "z", 1.0))
    s.add(g.Scale(x, "z", 2.0))
    with pytest.raises(GraphError, match="op 'scale' writes 'z', which is there already"):
        s.add(g.Scale(x, "z", 3.0))


def test_a_tensor_declared_again_must_be_the_same() -> None:
    s = Step()
    assert s.tensor(ones("x", 4)) == s.tensor(ones("x", 4))
    with pytest.raises(GraphError, match="tensor 'x' declared twice"):
        s.tensor(ones("x", 5))


def test_roles_and_io_of_the_good_graph() -> None:
    graph = good()
    assert graph.io == StepIo("token", "token", "pos", "logits")
    assert graph.tensors["normed"].role is Role.ACTIVATION
