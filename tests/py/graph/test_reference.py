"""The reference interpreter on every checkpoint of tests/data against logits of an independent implementation.

The bar is 1e-5 relative RMS: the references are sums in f32, which leave them about ε·√terms ≈ 6e-8·√500 ≈ 1e-6 from
the exact value after a few layers (they are found at 1e-7 to 5e-7); an error of kind (a scale, a window, a pair layout,
one bias) shows at 1e-3 and above.
"""

from __future__ import annotations

import numpy as np
import pytest

from lane.graph.graph import Head
from lane.graph.reference import Reference
from lane.models.recognise import Model
from tests.py.support.fixtures import FAMILIES, FIXTURES, GRAPHS, Fixture, relative_rms

BAR = 1e-5


def logits(model: Model, tokens: list[int], steps: list[int]) -> np.ndarray:
    """Logits at every position, the tokens fed in steps of given row counts."""
    reference = Reference(model.source.matrix)
    found, at = [], 0
    for rows in steps:
        found.append(reference.run(model.step(rows, Head.ALL), tokens[at : at + rows], at))
        at += rows
    assert at == len(tokens)
    return np.concatenate(found)


STEPS = {
    "chunks": lambda n: [n - 32, 32],
    "one by one": lambda n: [1] * n,
    "across": lambda n: [32, 8, 1, 1, 2, *[1] * (n - 60), 16],
}


@pytest.mark.parametrize("fixture", FIXTURES + GRAPHS, ids=lambda f: f.name)
@pytest.mark.parametrize("how", STEPS)
def test_short(fixture: Fixture, how: str) -> None:
    wanted = fixture.reference
    found = logits(fixture.model(), wanted.tokens, STEPS[how](len(wanted.tokens)))
    assert relative_rms(found, wanted.logits) <= BAR


@pytest.mark.parametrize("fixture", [f for f in FAMILIES + GRAPHS if f.has_long], ids=lambda f: f.name)
def test_long(fixture: Fixture) -> None:
    """700 tokens: past windows and past YaRN's original context."""
    wanted = fixture.long
    found = logits(fixture.model(len(wanted.tokens)), wanted.tokens, [512, 128, 32, 16, 8, 2, 1, 1])
    assert relative_rms(found[wanted.positions], wanted.logits) <= BAR


def test_the_head_over_the_last_row_gives_the_same_row() -> None:
    model, tokens = FAMILIES[0].model(), FAMILIES[0].reference.tokens[:16]
    last = Reference(model.source.matrix).run(model.step(16, Head.LAST), tokens, 0)
    rows = Reference(model.source.matrix).run(model.step(16, Head.ALL), tokens, 0)
    assert last.shape == (1, rows.shape[1])
    np.testing.assert_allclose(last[0], rows[-1], rtol=1e-12)


def test_reset_forgets_carried_state() -> None:
    model, tokens = FAMILIES[0].model(), FAMILIES[0].reference.tokens[:8]
    reference = Reference(model.source.matrix)
    step = model.step(8, Head.ALL)
    first = reference.run(step, tokens, 0)
    reference.run(step, tokens[::-1], 8)
    reference.reset()
    np.testing.assert_array_equal(reference.run(step, tokens, 0), first)
