"""Arenas of every fixture's schedules: what a launch reads is still what was written, and no byte too many is taken."""

from __future__ import annotations

import numpy as np
import pytest

from lane import _core
from lane.graph.graph import Head
from lane.launch.data import View
from lane.launch.record import Form, Mode, Numerics
from lane.launch.table import ALIGNMENT_BYTES
from lane.plan.arena import ArenaPlan, Part, array_bytes, is_step_local, plan_arena
from lane.schedule.schedule import Schedule, quantised_bytes, schedule
from tests.py.support.fixtures import BY_NAME, FIXTURES, Fixture

FORMS = ((1, Head.LAST), (2, Head.ALL), (32, Head.LAST), (512, Head.LAST), (512, Head.ALL))
MOST_OVER_BOUND = 0.02


def replay(s: Schedule, plan: ArenaPlan) -> None:
    """Runs a schedule's accesses on an arena that remembers, for each cell, which array was written there last."""
    owner = np.full(-(-plan.total_bytes // ALIGNMENT_BYTES), -1, np.int64)
    numbers: dict[tuple[str, Part], int] = {}
    for number, item in enumerate(s.launches):
        if isinstance(item.launch, View):
            continue
        for access in item.launch.accesses():
            buffer = s.buffers[s.buffers[access.name].base or access.name]
            if not is_step_local(buffer, s):
                continue
            for part, size_bytes in array_bytes(buffer, access.form, s.numerics):
                offset = plan.offset(buffer.name, part)
                assert offset >= 0 and offset % ALIGNMENT_BYTES == 0
                assert offset + size_bytes <= plan.total_bytes
                first = offset // ALIGNMENT_BYTES
                cells = owner[first : first - (-size_bytes // ALIGNMENT_BYTES)]
                own = numbers.setdefault((buffer.name, part), len(numbers))
                if access.mode in (Mode.READ, Mode.UPDATE):
                    assert (cells == own).all(), f"launch {number} '{item.launch}' reads '{buffer.name}' {part.value}"
                else:
                    cells[:] = own


@pytest.mark.parametrize("numerics", Numerics)
@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda f: f.name)
def test_fixtures(fixture: Fixture, numerics: Numerics) -> None:
    model = fixture.model()
    for rows, head in [form for form in FORMS if form[0] <= model.context]:
        s = schedule(model.step(rows, head), numerics)
        plan = plan_arena(s)
        replay(s, plan)
        assert plan.lower_bound_bytes <= plan.total_bytes <= (1 + MOST_OVER_BOUND) * plan.lower_bound_bytes


def test_every_step_local_array_is_placed_and_nothing_else() -> None:
    s = schedule(BY_NAME["gemma3"].model().step(32), Numerics.INT8X2)
    plan = plan_arena(s)
    placed = {(array.buffer, array.part) for array in plan.arrays}
    for buffer in s.buffers.values():
        local = is_step_local(buffer, s)
        assert ((buffer.name, Part.PLAIN) in placed) == (local and buffer.plain)
        for part in (Part.WORDS, Part.SECOND, Part.SCALES, Part.SUMS):
            assert ((buffer.name, part) in placed) == (local and buffer.quant)
    assert plan.offset(s.io.logits, Part.PLAIN) == -1
    assert plan.offset(s.io.pos, Part.PLAIN) == -1


@pytest.mark.parametrize("numerics", Numerics)
def test_the_quantised_form_has_the_bytes_that_the_schedule_counts(numerics: Numerics) -> None:
    s = schedule(BY_NAME["llama"].model().step(32), Numerics.INT8)
    for buffer in s.buffers.values():
        if buffer.quant and buffer.base is None:
            parts = dict(array_bytes(buffer, Form.QUANT, numerics))
            assert sum(parts.values()) == quantised_bytes(buffer.elems, numerics)
            assert (Part.SECOND in parts) == (numerics is Numerics.INT8X2)


def test_a_view_keeps_its_tensor_alive() -> None:
    """The last row that the head reads is a view of the whole block's norm, in both its forms."""
    s = schedule(BY_NAME["llama"].model().step(32), Numerics.INT8)
    view = next(item.launch for item in s.launches if isinstance(item.launch, View))
    last_read = max(
        number
        for number, item in enumerate(s.launches)
        if not isinstance(item.launch, View) and view.out in {a.name for a in item.launch.accesses()}
    )
    assert any(a.buffer == view.src and a.life.end == last_read + 1 for a in plan_arena(s).arrays)


def test_names_of_strategies_are_checked() -> None:
    problem = _core.ArenaProblem(ALIGNMENT_BYTES)
    problem.add("x", 10, [(0, 1)])
    assert _core.plan_arena(problem, ["size"]).strategy == "size"
    with pytest.raises(Exception, match="strategy: found 'luck', allowed size"):
        _core.plan_arena(problem, ["luck"])
