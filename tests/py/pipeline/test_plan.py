"""The frozen plan: what it holds, that it grows without moving anything, and that the check of places can fail."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from lane.errors import CapacityError, UnsupportedError, UsageError
from lane.graph.graph import Head
from lane.graph.tensor import Values
from lane.launch.quantised import Component
from lane.launch.record import Numerics
from lane.launch.table import Space
from lane.pipeline import PASSES, Options, compile_plan
from lane.plan.check import PlacementError, refuse_misplaced
from lane.plan.placement import Place
from lane.plan.plan import DECODE, FormKey, FormPlan, Plan
from tests.py.support.fixtures import BY_NAME, FAMILIES, Fixture

KEYS = [FormKey(8), FormKey(8, Head.ALL), FormKey(32)]


@pytest.mark.parametrize("fixture", FAMILIES, ids=lambda f: f.name)
def test_a_plan_grows_and_nothing_moves(fixture: Fixture) -> None:
    model = fixture.model()
    plan = compile_plan(model)
    for count in range(1, len(KEYS) + 1):
        grown = compile_plan(model, KEYS[:count], known=plan)
        assert list(grown.forms) == [DECODE, *KEYS[:count]]
        for key, form in plan.forms.items():
            assert grown.forms[key] is form
        for before, after in ((plan.pool, grown.pool), (plan.state, grown.state)):
            assert after.parts[: len(before.parts)] == before.parts
        assert grown.matrices[: len(plan.matrices)] == plan.matrices
        assert grown.arena_bytes >= plan.arena_bytes
        plan = grown
    assert compile_plan(model, KEYS, known=plan) is plan
    whole = compile_plan(model, KEYS)
    assert [form.places for form in whole.forms.values()] == [form.places for form in plan.forms.values()]


def test_planning_makes_no_values() -> None:
    plan = compile_plan(BY_NAME["llama"].model(), KEYS)
    placements = [part.buffer.tensor.placement for part in plan.pool.parts]
    assert placements and all(isinstance(p, Values) and "array" not in vars(p) for p in placements)


def test_a_key_of_one_row_has_one_head() -> None:
    assert FormKey(1, Head.ALL) == DECODE
    for bad in (0, 513):
        with pytest.raises(UsageError, match=f"plan: a step of {bad} rows, allowed 1 to 512"):
            FormKey(bad)
    with pytest.raises(UsageError, match="2 sequences of 4 rows"):
        FormKey(4, sequences=2)


def test_what_cannot_be_compiled_is_refused() -> None:
    model = BY_NAME["llama"].model(context=16)
    with pytest.raises(CapacityError, match=r"plan: a step of 32 rows, allowed 16 \(the context\)"):
        compile_plan(model, [FormKey(32)])
    with pytest.raises(UnsupportedError, match="no batch forms yet"):
        compile_plan(model, [FormKey(1, sequences=2)])
    with pytest.raises(UsageError, match="plan: found no form of 8 rows, head last, allowed 1 rows, head last"):
        compile_plan(model).form(FormKey(8))


def test_every_pass_is_seen_in_order() -> None:
    seen: list[str] = []

    @contextmanager
    def watch(name: str) -> Iterator[None]:
        seen.append(name)
        yield

    compile_plan(BY_NAME["llama"].model(), [FormKey(4)], Options(watch=watch))
    form = list(PASSES[: PASSES.index("check") + 1])
    assert seen == [*form, *form, *PASSES[len(form) :], "check"]


@pytest.mark.parametrize("numerics", Numerics)
def test_a_view_lies_in_its_tensor(numerics: Numerics) -> None:
    form = compile_plan(BY_NAME["gemma3"].model(), [FormKey(8)], Options(numerics)).form(FormKey(8))
    views = [buffer for buffer in form.schedule.buffers.values() if buffer.base is not None]
    assert views
    for view in views:
        assert view.base is not None
        base, own = form.places[view.base], form.places[view.name]
        assert own.space is base.space is Space.ARENA
        assert own.offsets[Component.PLAIN] == base.offsets[Component.PLAIN] + 4 * view.offset
        if Component.WORDS in base.offsets:
            assert own.offsets[Component.WORDS] == base.offsets[Component.WORDS] + view.offset
            assert own.offsets[Component.SCALES] == base.offsets[Component.SCALES] + view.offset // 32 * 4


Change = Callable[[Plan, FormPlan], dict[str, Place]]


def _moved(name: str, by: Callable[[Plan], int], component: Component = Component.PLAIN) -> Change:
    def change(plan: Plan, form: FormPlan) -> dict[str, Place]:
        place = form.places[name]
        return {name: Place(place.space, {**place.offsets, component: place.offsets[component] + by(plan)})}

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_moved("embed", lambda plan: plan.arena_bytes), r"'embed .*found plain in bytes \d+ to \d+ of the arena"),
        (_moved("embed", lambda plan: 4), r"found plain at byte \d+, allowed a multiple of 64"),
        (_moved("pos", lambda plan: plan.state.total_bytes), r"of the state, allowed 0 to"),
        (_moved("pos", lambda plan: -(1 << 20)), r"of the state, allowed 0 to"),
        (_moved("blk.0.attn_norm.weight", lambda plan: plan.pool.total_bytes), r"of the pool, allowed 0 to"),
        (
            _moved("blk.0.attn_q.weight", lambda plan: 1, Component.MATRIX),
            r"found matrix number \d+, allowed that of its",
        ),
        (_moved("blk.0.attn_q.weight", lambda plan: 1000, Component.MATRIX), r"found matrix number 10\d\d"),
        (lambda plan, form: {"embed": Place(Space.ARENA, {})}, "found no bytes of its plain"),
        (
            lambda plan, form: {"blk.0.attn_norm": Place(Space.ARENA, {Component.PLAIN: 0, Component.SCALES: 0})},
            "found no bytes of its words",
        ),
    ],
)
def test_what_lies_wrong_is_refused(change: Change, said: str) -> None:
    plan = compile_plan(BY_NAME["llama"].model())
    refuse_misplaced(plan)
    form = plan.decode
    bad = dataclasses.replace(form, places={**form.places, **change(plan, form)})
    with pytest.raises(PlacementError, match=said):
        refuse_misplaced(dataclasses.replace(plan, forms={**plan.forms, DECODE: bad}))


def test_a_buffer_without_a_place_is_refused() -> None:
    plan = compile_plan(BY_NAME["llama"].model())
    form = plan.decode
    bad = dataclasses.replace(form, places={name: p for name, p in form.places.items() if name != "embed"})
    with pytest.raises(PlacementError, match=r"'embed .*found no place"):
        refuse_misplaced(dataclasses.replace(plan, forms={DECODE: bad}))
