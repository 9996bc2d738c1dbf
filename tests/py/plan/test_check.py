"""The checker on real schedules: it passes what is planned and says what is wrong with what is not."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from lane import _core
from lane.graph.graph import Head
from lane.launch.fields import Region
from lane.launch.quantised import Component
from lane.launch.record import Numerics
from lane.plan.arena import ArenaPlan
from lane.plan.check import check_step
from lane.plan.chips import CHIPS, chip_named
from lane.plan.cost import launch_costs
from lane.plan.step import LoweredStep, Span, component_span
from lane.plan.step_plan import PlanError, PlanOptions, StepPlan, plan_step, refuse_faults
from lane.schedule.schedule import schedule
from tests.py.support.fixtures import BY_NAME, FIXTURES, Fixture

MOST_OVER_BOUND = 0.02


def planned(name: str, rows: int, streams: int = 1, head: Head = Head.LAST) -> tuple[LoweredStep, StepPlan]:
    s = schedule(BY_NAME[name].model().step(rows, head), Numerics.INT8X2)
    options = PlanOptions(streams=streams, chip=CHIPS["h200"], checked=False)
    return LoweredStep(s, launch_costs(s, CHIPS["h200"])), plan_step(s, options)


def broken_arena(plan: StepPlan, changes: dict[tuple[str, Component], int]) -> ArenaPlan:
    offsets = {(a.buffer, a.component): a.offset_bytes for a in plan.arena.arrays} | changes
    return replace(plan.arena, _offsets=offsets)


@pytest.mark.parametrize("streams", [1, 2, 4])
@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda f: f.name)
def test_plans_of_fixtures_pass(fixture: Fixture, streams: int) -> None:
    model = fixture.model()
    for rows, head in ((1, Head.LAST), (32, Head.ALL)):
        for numerics in Numerics:
            s = schedule(model.step(rows, head), numerics)
            plan = plan_step(s, PlanOptions(streams=streams, chip=CHIPS["rtx4090"]))  # raises what the checker finds
            assert plan.arena.total_bytes <= (1 + MOST_OVER_BOUND) * plan.arena.lower_bound_bytes
            assert plan.streams.streams <= streams


def test_small_steps_gain_by_streams() -> None:
    """A decode step of a tiny model is latency alone: the value's way to its cache runs beside the query's."""
    one, two = planned("llama", 1)[1], planned("llama", 1, streams=2)[1]
    assert two.streams.streams == 2
    assert one.step_us is not None and two.step_us is not None and two.step_us < one.step_us


def test_overlapping_arrays_are_found() -> None:
    lowered, plan = planned("llama", 32)
    first, second = "blk.0.attn_q", "blk.0.attn_k"
    arena = broken_arena(plan, {(second, Component.PLAIN): plan.arena.offset(first, Component.PLAIN)})
    texts = [f.text for f in check_step(lowered, plan.streams, arena) if f.fault == "overlap"]
    assert any(f"'{first} plain' and '{second} plain' share bytes" in text for text in texts), texts


def test_a_dropped_event_is_found() -> None:
    lowered, plan = planned("llama", 1, streams=2)
    issues = plan.streams.issues
    at = next(i for i, (_, _, waits) in enumerate(issues) if waits and waits != [-1])
    launch, stream, waits = issues[at]
    issues[at] = (launch, stream, waits[1:])
    broken = _core.StreamPlan(plan.streams.streams, issues, plan.streams.joins)
    findings = check_step(lowered, broken, plan.arena)
    assert findings
    assert all(f.fault in ("hazard", "overlap", "unwritten", "fork", "join") for f in findings)
    hazards = [f.text for f in findings if f.fault == "hazard"]
    assert any(re.search(rf"launch {launch} '.*' on stream {stream} .* nothing orders them", text) for text in hazards)


def test_a_read_before_its_write_is_found() -> None:
    lowered, plan = planned("llama", 32)
    issues = plan.streams.issues
    issues[0], issues[1] = issues[1], issues[0]
    broken = _core.StreamPlan(1, issues, plan.streams.joins)
    assert {f.fault for f in check_step(lowered, broken, plan.arena)} >= {"hazard", "unwritten"}


def test_findings_are_refused() -> None:
    lowered, plan = planned("llama", 32)
    bad = replace(plan, arena=broken_arena(plan, {("embed", Component.PLAIN): plan.arena.total_bytes}))
    with pytest.raises(PlanError, match=r"plan: \d+ findings of the checker: placement: 'embed plain' has"):
        refuse_faults(lowered, bad.streams, bad.arena)


def test_spans_of_a_view_lie_in_its_tensors_arrays() -> None:
    """Values 64 to 96 of a tensor, and of every 32 from there on the first 8, four times."""
    base = schedule(BY_NAME["llama"].model().step(1), Numerics.INT8X2).buffers["embed"]
    whole, parts = Region(0, 32), Region(0, 8, 32, 4)
    assert component_span(whole, 64, base, Component.WORDS) == Span(64, 32)
    assert component_span(whole, 64, base, Component.SECOND) == Span(64, 32)
    assert component_span(whole, 64, base, Component.SCALES) == Span(8, 4)
    assert component_span(whole, 64, base, Component.PLAIN) == Span(256, 128)
    assert component_span(parts, 64, base, Component.PLAIN) == Span(256, 32, pitch=128, count=4)
    assert component_span(Region(32, 8, 8, 4), 64, base, Component.PLAIN) == Span(384, 128)


def test_chips_are_named() -> None:
    assert chip_named("h200").device_bytes == 143771 << 20
    with pytest.raises(Exception, match="chip: 'abacus', allowed t4, rtx3090"):
        chip_named("abacus")
