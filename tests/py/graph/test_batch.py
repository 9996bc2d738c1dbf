"""A batch step built by hand: rows gathered in stacks, states and io of each sequence; against single steps.

Every value is the same sum of the same terms, taken row by row or in one product: equal to rounding, 1e-12.
"""

from __future__ import annotations

import numpy as np
import pytest

from lane.graph import ops as g
from lane.graph.graph import GraphBuilder, Head, SequenceIo, StepGraph, StepIo
from lane.graph.ops.base import Array
from lane.graph.reference import Reference
from lane.graph.tensor import Rows
from lane.graph.text import dump
from lane.graph.verify import verify
from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import BinaryOp
from tests.py.support.graphs import activation, matrix, param, state, values

WIDTH, HEADS, VOCAB, CONTEXT = 8, 2, 20, 16
ANGLES = np.arange(CONTEXT)[:, None] * np.array([1.0, 0.1])[None, :]


def weights(rows: Rows) -> Array:
    """Any matrix, drawn by its name."""
    seed = sum(rows.runs[0].tensor.encode())
    return np.random.default_rng(seed).standard_normal((rows.rows, rows.cols))


class Built:
    """One layer of attention over `sequences` sequences, one row each; a single step gathers in no stacks."""

    def __init__(self, sequences: int) -> None:
        self.b = GraphBuilder()
        self.sequences = sequences
        self.token = [self.b.tensor(param(self.named("token", i))) for i in range(sequences)]
        self.pos = [self.b.tensor(param(self.named("pos", i))) for i in range(sequences)]

    def named(self, name: str, sequence: int) -> str:
        return f"{name}.{sequence}" if self.sequences > 1 else name

    def w(self, name: str, rows: int) -> str:
        return self.b.tensor(matrix(name, rows, WIDTH))

    def stack(self, name: str, rows: list[str]) -> str:
        if self.sequences == 1:
            return rows[0]
        self.b.tensor(activation(name, len(rows), WIDTH))
        for i, row in enumerate(rows):
            self.b.add(g.WriteRows(name, row, None, i))
        return name

    def row(self, x: str, i: int) -> str:
        return x if self.sequences == 1 else self.b.add(g.ReadRow(x, f"{x}.row{i}", i))

    def attended(self, q: str, k: str, v: str, i: int) -> str:
        """One sequence's row over its own caches."""
        cos, sin = self.b.tensor(values("cos", np.cos(ANGLES))), self.b.tensor(values("sin", np.sin(ANGLES)))
        q, k = (
            self.b.add(g.Rotate(x, cos, sin, self.pos[i], f"{x}.turned", WIDTH // HEADS, RopeLayout.SPLIT))
            for x in (q, k)
        )
        caches = [self.b.tensor(state(self.named(name, i), CONTEXT, WIDTH)) for name in ("keys", "values")]
        for cache, row in zip(caches, (k, v), strict=True):
            self.b.add(g.WriteRows(cache, row, self.pos[i]))
        hd = WIDTH // HEADS
        out = self.named("attended_row", i)
        return self.b.add(g.Attention(q, *caches, self.pos[i], None, out, HEADS, HEADS, hd, hd, 0.5))

    def graph(self) -> StepGraph:
        every = range(self.sequences)
        table = self.w("table", VOCAB)
        x = self.stack("x", [self.b.add(g.Gather(table, self.token[i], self.named("row", i), 1)) for i in every])
        normed = self.b.add(g.RmsNorm(x, None, "normed", WIDTH, 1e-6))
        q, k, v = (self.b.add(g.MatMul(normed, self.w(f"w_{part}", WIDTH), part)) for part in ("q", "k", "v"))
        rows = [self.attended(self.row(q, i), self.row(k, i), self.row(v, i), i) for i in every]
        y = self.b.add(g.MatMul(self.stack("attended", rows), self.w("w_o", WIDTH), "y"))
        x = self.b.add(g.Binary(BinaryOp.ADD, x, y, "sum"))
        logits = self.b.add(g.MatMul(x, table, "logits"))
        io = [SequenceIo(self.token[i], self.pos[i], self.row(logits, i)) for i in every]
        for sequence in io:
            self.b.add(g.ArgMax(sequence.logits, sequence.token, sequence.pos, 1))
        first = io[0]
        return self.b.build(1, Head.LAST, StepIo(first.token, first.token, first.pos, first.logits, tuple(io[1:])))


@pytest.mark.parametrize("sequences", [2, 3])
def test_each_sequence_runs_as_it_does_alone(sequences: int) -> None:
    """Four steps; the sequences are at different positions, of which earlier rows are not written by this step."""
    batch, single = Built(sequences).graph(), Built(1).graph()
    verify(batch)
    verify(single)
    tokens = np.random.default_rng(5).integers(0, VOCAB, (4, sequences))
    starts = [0, 0, 0]
    together = Reference(weights)
    alone = [Reference(weights) for _ in range(sequences)]
    for step, row in enumerate(tokens):
        positions = [starts[i] + step for i in range(sequences)]
        found = together.run_batch(batch, [int(t) for t in row], positions)
        for i in range(sequences):
            wanted = alone[i].run(single, [int(row[i])], positions[i])
            np.testing.assert_allclose(found[i], wanted, rtol=1e-12, atol=1e-12)


def test_positions_are_each_sequences_own() -> None:
    """The second sequence starts two steps after the first: a batch step serves both where they are."""
    batch, single = Built(2).graph(), Built(1).graph()
    together, alone = Reference(weights), [Reference(weights), Reference(weights)]
    for pos, token in enumerate((3, 9)):  # the second sequence's row is of a dummy that is overwritten later
        together.run_batch(batch, [token, 0], [pos, 0])
        alone[0].run(single, [token], pos)
    for step, (first, second) in enumerate(((4, 7), (1, 8))):
        found = together.run_batch(batch, [first, second], [2 + step, step])
        for i, (token, pos) in enumerate(((first, 2 + step), (second, step))):
            np.testing.assert_allclose(found[i], alone[i].run(single, [token], pos), rtol=1e-12, atol=1e-12)


def test_text() -> None:
    lines = dump(Built(2).graph()).splitlines()
    assert lines[0] == "step rows=1 head=last logits=logits.row0,logits.row1"
    assert "  x = write_rows table=x src=row.1 row=1  -> 2x8" in lines
