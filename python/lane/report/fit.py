"""Whether a checkpoint fits a device, before anything is loaded.

Enters: a checkpoint, a context, forms, and a device with a number of bytes. Leaves: a `FitReport`: bytes by part, what
would move, estimated rates of each choice, and the longest context that fits with nothing moved. No matrix is read.

On the CPU the matrices are read in place from the mapped checkpoint: nothing moves, and what must fit is the pool and
the arena, to the byte what the device then allocates. On any other device all is carved from its memory. Rates are the
cost model's (plan/cost.py) at a full context, each launch alone on one stream; a matrix in host memory is read through
the bus.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from lane import _core
from lane.checkpoint.gguf import Checkpoint
from lane.errors import CapacityError, UsageError
from lane.graph.tensor import Rows
from lane.launch.record import Numerics
from lane.limits import context_warning, memory_limit, memory_refusal
from lane.models.recognise import Model, recognise
from lane.models.step import CHUNK_ROWS
from lane.pipeline import Options, compile_plan
from lane.plan.chips import CONTEXT_BYTES, Chip, chip_named
from lane.plan.cost import launch_cost
from lane.plan.cpu_target import this_cpu
from lane.plan.plan import FormKey, Plan
from lane.plan.residence import Residence, choose_residence, spare_bytes
from lane.schedule.buffers import Fill
from lane.schedule.schedule import Schedule

DEFAULT_FORMS = (1, *CHUNK_ROWS)
BISECT_EVERY = 4  # of the tries for the longest context, so that there are few whatever its bytes grow like


@dataclass(frozen=True, slots=True)
class Device:
    """What a model is to fit: one that reads matrices in place, or one into whose memory all is carved."""

    name: str
    in_place: bool = False
    chip: Chip | None = None  # None: nothing is known to estimate rates with, nor its bytes


CPU = Device("cpu", in_place=True)
UNNAMED = Device("device")


def device_named(name: str) -> Device:
    """The CPU, or a chip of the table; UsageError for another."""
    return CPU if name == CPU.name else Device(name, chip=chip_named(name))


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to hold the matrices. Rates are in tokens a second; None: no chip to estimate them for."""

    name: str
    device_bytes: int
    host_bytes: int
    moved: tuple[str, ...]
    decode_rate: float | None
    prefill_rate: float | None


@dataclass(frozen=True)
class FitReport:
    """The answer. `refusal` says, where it does not fit, what does not; `warning` what is to be said all the same."""

    device: str
    in_place: bool  # the matrices stay in the mapped checkpoint
    context: int
    most_context: int  # the model's own
    forms: tuple[int, ...]
    numerics: str
    mapped_bytes: int  # of the checkpoint's files
    matrix_bytes: Mapping[str, int]  # by format, each tied matrix once: as they lie on the device, or in the file
    cache_bytes: int  # all carried state
    constant_bytes: int
    io_bytes: int
    arena_bytes: int
    scratch_bytes: int  # of the CPU's threads, each for itself
    spare_bytes: int
    budget_bytes: int | None
    choices: tuple[Choice, ...]
    refusal: str | None
    warning: str | None  # of a context beyond the model's own
    longest_context: int | None  # None: no budget to fit

    @property
    def fits(self) -> bool:
        """Whether it runs at all within the budget."""
        return self.refusal is None

    @property
    def pool_bytes(self) -> int:
        """What lives across steps, matrices aside."""
        return self.cache_bytes + self.constant_bytes + self.io_bytes

    def as_json(self) -> dict[str, object]:
        """Plain values that JSON can hold, totals included."""
        return {**asdict(self), "fits": self.fits, "pool_bytes": self.pool_bytes}


def fit(
    path: Path,
    *,
    context: int | None = None,
    forms: Sequence[int] = DEFAULT_FORMS,
    numerics: Numerics = Numerics.INT8,
    device: Device = CPU,
    budget_bytes: int | None = None,
    threads: int | None = None,
) -> FitReport:
    """Answers for one checkpoint, on the CPU for so many threads (none: all that there are). Without a budget a chip's
    is its memory less what the driver and captured graphs take, the CPU's all memory that a process here may use, other
    devices' unbounded. Forms of more rows than the context are left out. UsageError for one that lane does not have."""
    for rows in forms:
        if rows not in DEFAULT_FORMS:
            raise UsageError(f"fit: a form of {rows} rows, allowed {', '.join(map(str, DEFAULT_FORMS))}")
    checkpoint = Checkpoint.open(path)
    model = recognise(checkpoint, context)

    options = Options(numerics, target=this_cpu(threads) if device.in_place else None)
    plan = _plan(model, forms, options)
    spare = 0 if device.in_place else spare_bytes(form.schedule for form in plan.forms.values())
    budget = budget_bytes
    if device.in_place and budget is None:
        budget = memory_limit().bytes
    if device.chip is not None and budget is None:
        budget = _core.budget_of_free(device.chip.device_bytes - CONTEXT_BYTES, spare)

    def needed_at(positions: int) -> int:
        return _needed(_plan(model.at_context(positions), [widest], options), device)

    widest = max(plan.forms.values(), key=lambda form: form.arena.total_bytes).key.rows
    choices, refusal = _choices(plan, device, budget)
    formats: Counter[str] = Counter()
    for matrix in plan.move_order:
        formats[matrix.rows.format] += matrix.rows.size_bytes if device.in_place else matrix.size_bytes
    return FitReport(
        device=device.name,
        in_place=device.in_place,
        context=model.context,
        most_context=model.config.context,
        forms=tuple(key.rows for key in plan.forms),
        numerics=numerics.value,
        mapped_bytes=checkpoint.bytes,
        matrix_bytes=dict(formats),
        cache_bytes=plan.state.filled_bytes(Fill.ZERO),
        constant_bytes=plan.pool.total_bytes,
        io_bytes=plan.state.filled_bytes(Fill.PARAM, Fill.LOGITS),
        arena_bytes=plan.arena_bytes,
        scratch_bytes=plan.scratch_bytes,
        spare_bytes=spare,
        budget_bytes=budget,
        choices=choices,
        refusal=refusal,
        warning=context_warning(model.context, model.config.context),
        longest_context=None if budget is None else _longest(model.config.context, needed_at, budget),
    )


def _plan(model: Model, forms: Sequence[int], options: Options) -> Plan:
    keys = [FormKey(rows) for rows in forms if rows <= model.context]
    return compile_plan(model, keys, options)


def _fixed(plan: Plan) -> int:
    """The bytes of what cannot move, the arena aside."""
    return plan.pool.total_bytes + plan.state.total_bytes + plan.scratch_bytes


def _needed(plan: Plan, device: Device) -> int:
    """The bytes of device memory with nothing moved."""
    matrix_bytes = 0 if device.in_place else sum(matrix.size_bytes for matrix in plan.move_order)
    return plan.arena_bytes + _fixed(plan) + matrix_bytes


def _choices(plan: Plan, device: Device, budget: int | None) -> tuple[tuple[Choice, ...], str | None]:
    whole = Residence((), _needed(plan, device), 0)
    choices = [_choice("nothing moved", whole, plan, device.chip)]
    if budget is None or whole.device_bytes <= budget:
        return tuple(choices), None
    what = f"{device.name}: {plan.model.context} positions"
    if device.in_place and (refusal := memory_refusal(what, whole.device_bytes)):
        return tuple(choices), refusal
    try:
        movable = () if device.in_place else plan.move_order
        residence = choose_residence(movable, plan.arena_bytes, _fixed(plan), budget)
    except CapacityError as error:
        return tuple(choices), str(error)
    choices.append(_choice("within the budget", residence, plan, device.chip))
    return tuple(choices), None


def _choice(name: str, residence: Residence, plan: Plan, chip: Chip | None) -> Choice:
    moved = frozenset(matrix.rows for matrix in residence.moved)
    decode = prefill = None
    if chip is not None:
        decode = 1e6 / _step_us(plan.decode.schedule, chip, moved)
        largest = max((form.schedule for form in plan.forms.values()), key=lambda schedule: schedule.rows)
        if largest.rows > 1:
            prefill = 1e6 * largest.rows / _step_us(largest, chip, moved)
    names = tuple(matrix.name for matrix in residence.moved)
    return Choice(name, residence.device_bytes, residence.host_bytes, names, decode, prefill)


def _step_us(schedule: Schedule, chip: Chip, moved: frozenset[Rows]) -> float:
    """A step's time, launch after launch; one that reads through the bus takes at least what that takes."""
    total = 0.0
    for item in schedule.executed():
        through_bus = 0
        for access in item.launch.accesses():
            if schedule.buffers[access.name].rows in moved:
                through_bus += schedule.access_bytes(access)
        total += max(launch_cost(item, schedule, chip).alone_us, 1e6 * through_bus / chip.bus_bandwidth)
    return total


def _longest(own: int, needed: Callable[[int], int], budget: int) -> int:
    """The most positions, up to the model's own, for which it fits; 0 if it does not even for one.

    What is needed grows with the context almost in a straight line, so most tries are where the line through the ends
    of what is left meets the budget.
    """
    low, at_low, high, at_high = 1, needed(1), own, needed(own)
    if at_low > budget:
        return 0
    if at_high <= budget:
        return own
    tries = 0
    while high - low > 1:
        tries += 1
        share = (budget - at_low) / (at_high - at_low) if tries % BISECT_EVERY else 0.5
        middle = min(max(low + int(share * (high - low)), low + 1), high - 1)
        at_middle = needed(middle)
        if at_middle <= budget:
            low, at_low = middle, at_middle
        else:
            high, at_high = middle, at_middle
    return low
