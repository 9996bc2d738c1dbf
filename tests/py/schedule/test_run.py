"""Schedules run by their launches' own definitions, against the reference graph and the references of tests/data.

Against the graph under `precise`, the launches differ by rounding each result to f32 once: u = 6e-8 relative a launch.
About fifteen launches a layer over four layers, added in quadrature and passed on with gains near one, leave
√60·6e-8 ≈ 5e-7 relative RMS; the bar is 2e-6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from lane.devices.reference import ScheduleMemory
from lane.graph.graph import Head
from lane.graph.reference import Reference as Interpreter
from lane.launch.record import Numerics
from lane.models.recognise import Model
from lane.schedule.schedule import schedule
from tests.py.support.bars import misses
from tests.py.support.fixtures import BY_NAME, F64, MODELS, Fixture, relative_rms

PRECISE_BAR = 2e-6


def run_schedules(model: Model, numerics: Numerics, tokens: Sequence[int], steps: Sequence[int]) -> F64:
    """Logits at every position, the tokens fed in steps of given row counts."""
    states: dict[str, npt.NDArray[Any]] = {}
    memories: dict[int, ScheduleMemory] = {}
    matrices: dict[Any, F64] = {}

    def read_matrix(rows: Any) -> F64:
        if rows not in matrices:
            matrices[rows] = model.source.matrix(rows)
        return matrices[rows]

    found, at = [], 0
    for rows in steps:
        if rows not in memories:
            memories[rows] = ScheduleMemory(schedule(model.step(rows, Head.ALL), numerics), read_matrix, states)
        found.append(memories[rows].run(tokens[at : at + rows], at))
        at += rows
    return np.concatenate(found)


def run_graphs(model: Model, tokens: Sequence[int], steps: Sequence[int]) -> F64:
    interpreter, found, at = Interpreter(model.source.matrix), [], 0
    for rows in steps:
        found.append(interpreter.run(model.step(rows, Head.ALL), tokens[at : at + rows], at))
        at += rows
    return np.concatenate(found)


@pytest.mark.parametrize("fixture", MODELS, ids=lambda f: f.name)
def test_precise_is_the_graph_but_for_f32_results(fixture: Fixture) -> None:
    model, tokens, steps = fixture.model(), fixture.reference.tokens[:42], [32, 8, 1, 1]
    found = run_schedules(model, Numerics.PRECISE, tokens, steps)
    assert relative_rms(found, run_graphs(model, tokens, steps)) <= PRECISE_BAR


@pytest.mark.parametrize("numerics", [Numerics.INT8, Numerics.INT8X2])
@pytest.mark.parametrize("fixture", MODELS, ids=lambda f: f.name)
def test_quantised_numerics_are_near(fixture: Fixture, numerics: Numerics) -> None:
    tokens = fixture.reference.tokens
    found = run_schedules(fixture.model(), numerics, tokens, [32, *[1] * (len(tokens) - 48), 16])
    assert not misses(numerics, found, fixture.reference)


def test_the_last_rows_logits_are_the_same_row() -> None:
    """The head over the last row reads a view of the quantised block."""
    model, tokens = BY_NAME["llama"].model(), BY_NAME["llama"].reference.tokens[:16]
    for numerics in Numerics:
        one = ScheduleMemory(schedule(model.step(16, Head.LAST), numerics), model.source.matrix, {}).run(tokens, 0)
        every = ScheduleMemory(schedule(model.step(16, Head.ALL), numerics), model.source.matrix, {}).run(tokens, 0)
        np.testing.assert_allclose(one[0], every[-1], rtol=1e-6)


def test_what_no_launch_wrote_is_not_a_number() -> None:
    model = BY_NAME["llama"].model(context=64)
    memory = ScheduleMemory(schedule(model.step(4), Numerics.INT8), model.source.matrix, {})
    assert np.isnan(memory.plain("embed")).all()
    memory.run(BY_NAME["llama"].reference.tokens[:4], 0)
    assert np.isfinite(memory.plain("embed")).all()
