"""Latent attention's two forms give the same: absorbed into the latent space, and expanded to keys and values per head.

Both are sums of the same products in another order: equal to rounding, 1e-12.
"""

from __future__ import annotations

import numpy as np
import pytest

from lane.graph import ops as g
from lane.graph.graph import Head, StepGraph
from lane.graph.ops.base import Array
from lane.graph.reference import Reference
from lane.graph.tensor import Rows
from lane.graph.verify import verify
from tests.py.support.graphs import Step, matrix, state

ROWS, CONTEXT, HEADS, NOPE, ROPE, RANK, VALUE, VOCAB = 5, 16, 3, 6, 4, 8, 2, 20
WIDTH = HEADS * (NOPE + ROPE)


def weights(rows: Rows) -> Array:
    """Any matrix, drawn by its name."""
    seed = sum(rows.runs[0].tensor.encode())
    return np.random.default_rng(seed).standard_normal((rows.rows, rows.cols)) / np.sqrt(rows.cols)


class Built:
    """The queries' parts and the cached latent rows, from which either form goes on."""

    def __init__(self) -> None:
        self.s = Step(ROWS)
        self.add = self.s.add
        table = self.s.tensor(matrix("table", VOCAB, WIDTH))
        x = self.add(g.Gather(table, self.s.tokens, "x", ROWS))
        self.nope = self.add(g.Slice(x, "nope", NOPE + ROPE, 0, NOPE))
        self.rope = self.add(g.Slice(x, "rope", NOPE + ROPE, NOPE, ROPE))
        self.cache = self.s.tensor(state("cache", CONTEXT, RANK + ROPE))
        row = self.add(g.MatMul(x, self.s.tensor(matrix("latent", RANK + ROPE, WIDTH)), "row"))
        self.add(g.WriteRows(self.cache, row, self.s.pos))
        self.key = self.s.tensor(matrix("key", HEADS * RANK, NOPE))
        self.value = self.s.tensor(matrix("value", HEADS * VALUE, RANK))

    def close(self, attended: str) -> StepGraph:
        head = self.s.tensor(matrix("head", VOCAB, HEADS * VALUE))
        graph = self.s.close(self.add(g.MatMul(attended, head, "logits")), Head.ALL)
        verify(graph)
        return graph


def absorbed() -> StepGraph:
    b = Built()
    inward = b.add(g.HeadMatMul(b.nope, b.key, "inward", HEADS, NOPE, RANK))
    query = b.add(g.Join(inward, b.rope, "query", RANK, ROPE))
    key = RANK + ROPE
    attended = b.add(
        g.Attention(query, b.cache, b.cache, b.s.pos, None, "attended", HEADS, 1, key, RANK, 0.3, value_start=0)
    )
    return b.close(b.add(g.HeadMatMul(attended, b.value, "outward", HEADS, RANK, VALUE)))


def expanded() -> StepGraph:
    b = Built()
    latent = b.add(g.Slice(b.cache, "latent_rows", RANK + ROPE, 0, RANK))
    keys = b.add(g.HeadMatMul(latent, b.key, "keys", HEADS, RANK, NOPE, rows_in=True, shared=True))
    values = b.add(g.HeadMatMul(latent, b.value, "values", HEADS, RANK, VALUE, shared=True))
    split = {"q_rest": b.rope, "keys_rest": b.cache, "rest": ROPE, "rest_start": RANK}
    attended = g.Attention(
        b.nope, keys, values, b.s.pos, None, "attended", HEADS, HEADS, NOPE, VALUE, 0.3, **split  # type: ignore[arg-type]
    )  # fmt: skip
    return b.close(b.add(attended))


@pytest.mark.parametrize("pos", [0, 7])
def test_forms_agree(pos: int) -> None:
    """From the start, and over rows that an earlier step wrote."""
    forms, found = (absorbed(), expanded()), []
    for form in forms:
        reference = Reference(weights)
        for at in range(0, pos, ROWS):
            reference.run(form, [at, 3, 1, 2, 7], min(at, pos - ROWS))
        found.append(reference.run(form, [3, 9, 14, 0, 5], pos))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-12)
    assert np.abs(found[0]).max() > 0.01
