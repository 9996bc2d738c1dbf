"""Arenas of every fixture's schedules: what a launch reads is still what was written, and no byte too many is taken."""

from __future__ import annotations

import numpy as np
import pytest

from lane import _core
from lane.errors import UsageError
from lane.graph.graph import Head
from lane.launch.data import View
from lane.launch.fields import STORED, Mode
from lane.launch.quantised import Component, components
from lane.launch.record import Numerics
from lane.launch.table import ALIGNMENT_BYTES
from lane.models.step import CHUNK_ROWS
from lane.plan.arena import ArenaPlan
from lane.plan.step import array_bytes
from lane.plan.step_plan import PlanOptions, plan_arena, plan_step
from lane.schedule.schedule import Schedule, schedule
from tests.py.support.fixtures import BY_NAME, FAMILIES, FIXTURES, Fixture

FORMS = (*((rows, Head.LAST) for rows in (1, *CHUNK_ROWS)), *((rows, Head.ALL) for rows in CHUNK_ROWS))
FORMAT_FORMS = ((1, Head.LAST), (32, Head.ALL), (512, Head.LAST))  # a matrix's format changes no array
MOST_OVER_BOUND = 0.02


def replay(s: Schedule, plan: ArenaPlan) -> None:
    """Runs a schedule's accesses on an arena that remembers, for each cell, which array was written there last."""
    owner = np.full(-(-plan.total_bytes // ALIGNMENT_BYTES), -1, np.int64)
    numbers: dict[tuple[str, Component], int] = {}
    for number, item in enumerate(s.launches):
        if isinstance(item.launch, View):
            continue
        for access in item.accesses():
            buffer = s.buffers[s.buffers[access.name].base or access.name]
            if not buffer.is_step_local:
                continue
            for component in components(access.storage, s.numerics):
                offset, size_bytes = plan.offset(buffer.name, component), array_bytes(buffer, component)
                assert offset >= 0 and offset % ALIGNMENT_BYTES == 0
                assert offset + size_bytes <= plan.total_bytes
                first = offset // ALIGNMENT_BYTES
                cells = owner[first : first - (-size_bytes // ALIGNMENT_BYTES)]
                own = numbers.setdefault((buffer.name, component), len(numbers))
                if access.mode in (Mode.READ, Mode.UPDATE):
                    assert (cells == own).all(), (
                        f"launch {number} '{item.launch}' reads '{buffer.name}' {component.value}"
                    )
                else:
                    cells[:] = own


@pytest.mark.parametrize("numerics", Numerics)
@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda f: f.name)
def test_fixtures(fixture: Fixture, numerics: Numerics) -> None:
    model = fixture.model()
    forms = FORMS if fixture in FAMILIES else FORMAT_FORMS
    for rows, head in [form for form in forms if form[0] <= model.context]:
        s = schedule(model.step(rows, head), numerics)
        plan = plan_arena(s)
        replay(s, plan)
        assert plan.lower_bound_bytes <= plan.total_bytes <= (1 + MOST_OVER_BOUND) * plan.lower_bound_bytes


def test_every_step_local_array_is_placed_and_nothing_else() -> None:
    s = schedule(BY_NAME["gemma3"].model().step(32), Numerics.INT8X2)
    plan = plan_arena(s)
    placed = {(array.buffer, array.component) for array in plan.arrays}
    for buffer in s.buffers.values():
        for storage, has in zip(STORED, (buffer.plain, buffer.quant), strict=True):
            for component in components(storage, s.numerics):
                assert ((buffer.name, component) in placed) == (buffer.is_step_local and has)
    assert plan.offset(s.io.logits, Component.PLAIN) == -1
    assert plan.offset(s.io.pos, Component.PLAIN) == -1


def test_a_view_keeps_its_tensor_alive() -> None:
    """The last row, which alone gets logits, is a view of the block: until then its bytes are no one else's."""
    s = schedule(BY_NAME["llama"].model().step(32), Numerics.INT8)
    plan = plan_arena(s)
    view = next(item.launch for item in s.launches if isinstance(item.launch, View))
    last = max(n for n, item in enumerate(s.launches) if view.out in {a.name for a in item.launch.accesses()})
    begin = plan.offset(view.src, Component.PLAIN)
    end = begin + array_bytes(s.buffers[view.src], Component.PLAIN)
    written = [a.name for a in s.launches[last].launch.accesses() if a.mode is Mode.WRITE]
    for buffer in (s.buffers[name] for name in written):
        offset = plan.offset(buffer.name, Component.PLAIN)
        assert offset >= end or offset + array_bytes(buffer, Component.PLAIN) <= begin


@pytest.mark.parametrize("strategy", _core.arena_strategies())
def test_a_strategy_can_be_held_to(strategy: str) -> None:
    s = schedule(BY_NAME["gemma3"].model().step(32), Numerics.INT8)
    plan = plan_step(s, PlanOptions(strategies=[strategy])).arena
    assert plan.strategy == strategy
    replay(s, plan)


def test_names_of_strategies_are_checked() -> None:
    s = schedule(BY_NAME["llama"].model().step(1), Numerics.INT8)
    with pytest.raises(UsageError, match="arena: strategy: found 'luck', allowed size, area"):
        plan_step(s, PlanOptions(strategies=["luck"]))
