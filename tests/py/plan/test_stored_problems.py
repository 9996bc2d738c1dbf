"""The stored arena problems of large models: what their shapes give, and how near the bound their answers are."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from lane import _core
from tests.py.plan.shapes import SHAPES, tape
from tests.py.support.goldens import check_golden, golden_text

MOST_OVER_BOUND = 0.02
MOST_SECONDS = 2.0
LAUNCHES = 20_000


def stored(name: str) -> _core.ArenaProblem:
    return _core.ArenaProblem.of_text(golden_text(f"arena/{name}.csv"))


@pytest.mark.parametrize("name", SHAPES)
def test_problems_are_what_their_shapes_give(name: str) -> None:
    check_golden(f"arena/{name}.csv", tape(SHAPES[name]).problem().text())


@pytest.mark.parametrize("name", SHAPES)
def test_answers_are_near_the_bound(name: str) -> None:
    answer = _core.plan_arena(stored(name), _core.arena_strategies())
    assert answer.lower_bound_bytes <= answer.total_bytes <= (1 + MOST_OVER_BOUND) * answer.lower_bound_bytes


@pytest.mark.parametrize("strategy", _core.arena_strategies())
@pytest.mark.parametrize("name", SHAPES)
def test_each_strategy_alone_answers(name: str, strategy: str) -> None:
    problem = stored(name)
    answer = _core.plan_arena(problem, [strategy])
    assert answer.strategy == strategy
    assert len(answer.offsets) == len(problem)
    assert answer.total_bytes >= answer.lower_bound_bytes
    assert answer.text(problem).startswith(f"strategy,{strategy}\ntotal_bytes,{answer.total_bytes}\n")


@pytest.mark.parametrize("name", SHAPES)
def test_a_step_of_twenty_thousand_launches_is_planned_in_time(name: str) -> None:
    a_layer = tape(SHAPES[name]).launches / SHAPES[name].layers
    large = tape(replace(SHAPES[name], layers=round(LAUNCHES / a_layer)))
    assert large.launches > 0.95 * LAUNCHES
    problem = large.problem()
    start = time.process_time()
    answer = _core.plan_arena(problem, _core.arena_strategies())
    assert time.process_time() - start < MOST_SECONDS
    assert answer.total_bytes <= (1 + MOST_OVER_BOUND) * answer.lower_bound_bytes
