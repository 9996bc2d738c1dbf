"""The pipeline: named passes in order, each verified at its end.

    checkpoint ─► recognise
        ─► step ─► verify ─► link ─► schedule ─► scratch ─► streams ─► arena ─► check    form by form
        ─► pool ─► residence ─► placement ─► check                                       for all together
        ─► the frozen plan

Nothing flows back: a later pass reads an earlier one's output and never changes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from lane.checkpoint.gguf import Checkpoint
from lane.errors import CapacityError
from lane.graph.tensor import Rows
from lane.graph.verify import verify
from lane.launch.record import Numerics
from lane.link.link import link
from lane.models.recognise import Model, recognise
from lane.plan.arena import place_arrays
from lane.plan.check import refuse_misplaced
from lane.plan.placement import Shared, place_buffers
from lane.plan.plan import DECODE, FormKey, FormPlan, Plan
from lane.plan.pool import constant_buffers, lay_pool, state_buffers
from lane.plan.step_plan import DEFAULT_STEP, PlanOptions, choose_streams, lower, refuse_faults
from lane.plan.target import Target
from lane.schedule.schedule import schedule_linked

FORM_PASSES = ("step", "verify", "link", "schedule", "scratch", "streams", "arena", "check")
PASSES = (*FORM_PASSES, "pool", "residence", "placement")

Watch = Callable[[str], AbstractContextManager[object]]  # is given each pass's name, and entered while it runs


def _unwatched(name: str) -> AbstractContextManager[object]:
    return nullcontext()


@dataclass(frozen=True, slots=True)
class Options:
    """What a plan is made for. `watch` sees each pass run (to time it); the rest may change the plan."""

    numerics: Numerics = Numerics.INT8
    step: PlanOptions = DEFAULT_STEP
    target: Target | None = None  # the device that it is for; none: launches have no scratch
    watch: Watch = _unwatched


DEFAULT_OPTIONS = Options()


def open_model(path: Path, context: int | None = None) -> tuple[Checkpoint, Model]:
    """Opens a checkpoint and recognises its model."""
    checkpoint = Checkpoint.open(path)
    return checkpoint, recognise(checkpoint, context)


def compile_plan(
    model: Model, keys: Iterable[FormKey] = (), options: Options = DEFAULT_OPTIONS, known: Plan | None = None
) -> Plan:
    """The plan of the decode form and those asked for; with a known plan, its forms are kept as they are.

    CapacityError for a form of more rows than the context, UnsupportedError for an op without a launch.
    """
    forms = {} if known is None else dict(known.forms)
    missing = [key for key in dict.fromkeys((DECODE, *keys)) if key not in forms]
    if known is not None and not missing:
        return known
    for key in missing:
        forms[key] = compile_form(model, key, options)
    return join_forms(model, options, forms, known)


def compile_form(model: Model, key: FormKey, options: Options) -> FormPlan:
    """The passes over one form; its places are decided with those of the others."""
    if key.rows > model.context:
        raise CapacityError(f"plan: a step of {key.rows} rows, allowed {model.context} (the context)")
    watch = options.watch
    with watch("step"):
        graph = model.step(key.rows, key.head, key.sequences, options.numerics)
    with watch("verify"):
        verify(graph)
    with watch("link"):
        linked = link(graph, options.numerics)
    with watch("schedule"):
        scheduled = schedule_linked(graph, linked, options.numerics)
    scratch_bytes = 0
    with watch("scratch"):
        if options.target is not None:
            scheduled, scratch_bytes = options.target.with_workspace(scheduled)
    with watch("streams"):
        lowered = lower(scheduled, options.step)
        streams = choose_streams(lowered, options.step)
    with watch("arena"):
        arena = place_arrays(lowered, streams, options.step.strategies)
    with watch("check"):
        if options.step.checked:
            refuse_faults(lowered, streams, arena)
    return FormPlan(key, graph, scheduled, streams, arena, {}, scratch_bytes)


def join_forms(model: Model, options: Options, forms: Mapping[FormKey, FormPlan], known: Plan | None) -> Plan:
    """The passes over all forms together."""
    watch = options.watch
    schedules = [form.schedule for form in forms.values()]
    with watch("pool"):
        pool = lay_pool(constant_buffers(schedules), None if known is None else known.pool)
        state = lay_pool(state_buffers(schedules), None if known is None else known.state)
    with watch("residence"):
        numbers = number_matrices(forms.values(), () if known is None else known.matrices)
    with watch("placement"):
        shared = Shared(pool, state, numbers)
        placed = {
            key: form if form.places else replace(form, places=place_buffers(form.schedule, form.arena, shared))
            for key, form in forms.items()
        }
    plan = Plan(model, options.numerics, placed, pool, state, tuple(numbers), options.target)
    with watch("check"):
        if options.step.checked:
            refuse_misplaced(plan)
    return plan


def number_matrices(forms: Iterable[FormPlan], known: tuple[Rows, ...]) -> dict[Rows, int]:
    """A number for every matrix, in order of first use after those that are known."""
    numbers = {rows: number for number, rows in enumerate(known)}
    for form in forms:
        for buffer in form.schedule.buffers.values():
            if buffer.rows is not None:
                numbers.setdefault(buffer.rows, len(numbers))
    return numbers
