"""The streams and the arena of a form: its streams, then its arena under their order, then the proof of both.

Enters: a schedule. Leaves: a `StepPlan`. Promise: no plan leaves that the checker has anything to say about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lane import _core
from lane.errors import LaneError
from lane.plan.arena import STRATEGIES, ArenaPlan, place_arrays
from lane.plan.check import check_step
from lane.plan.chips import Chip
from lane.plan.cost import launch_costs
from lane.plan.step import LoweredStep
from lane.schedule.schedule import Schedule

LEAST_GAIN = 0.01  # the part of a step's time that a further stream must gain by the model


class PlanError(LaneError):
    """A plan that the checker refuses: a fault of the planners or of a launch's declared accesses."""


@dataclass(frozen=True)
class StepPlan:
    """A form's arena and streams. `step_us` is its time by the cost model (none: no chip was named)."""

    arena: ArenaPlan
    streams: _core.StreamPlan
    step_us: float | None


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What may be switched: more streams than one (they need a chip to gain on), strategies held back, the checker."""

    streams: int = 1
    chip: Chip | None = None
    strategies: Sequence[str] = STRATEGIES
    checked: bool = True


DEFAULT_STEP = PlanOptions()


def plan_step(schedule: Schedule, options: PlanOptions = DEFAULT_STEP) -> StepPlan:
    """Plans one form."""
    lowered = lower(schedule, options)
    streams = choose_streams(lowered, options)
    arena = place_arrays(lowered, streams, options.strategies)
    if options.checked:
        refuse_faults(lowered, streams, arena)
    chip = options.chip
    step_us = None if chip is None else _core.simulate_us(lowered.step, streams, chip.event_us)
    return StepPlan(arena, streams, step_us)


def lower(schedule: Schedule, options: PlanOptions) -> LoweredStep:
    """The schedule in numbers, with what its launches cost where a chip is named."""
    return LoweredStep(schedule, None if options.chip is None else launch_costs(schedule, options.chip))


def choose_streams(lowered: LoweredStep, options: PlanOptions) -> _core.StreamPlan:
    """One stream, or as many as gain on the chip."""
    if options.chip is None:
        return _core.one_stream(lowered.step)
    return _core.plan_streams(lowered.step, options.streams, options.chip.event_us, LEAST_GAIN)


def plan_arena(schedule: Schedule) -> ArenaPlan:
    """The arena of a form on one stream."""
    return plan_step(schedule).arena


def refuse_faults(lowered: LoweredStep, streams: _core.StreamPlan, arena: ArenaPlan) -> None:
    """PlanError with what the checker finds, if anything."""
    findings = check_step(lowered, streams, arena)
    if findings:
        shown = "; ".join(f"{finding.fault}: {finding.text}" for finding in findings[:3])
        raise PlanError(f"plan: {len(findings)} findings of the checker: {shown}")
