"""What each pass made, as text: stable, one line a thing.

Enters: a plan and one of its forms. Leaves: the text of a pass by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from lane.graph.text import dump as graph_text
from lane.launch.data import View
from lane.plan.plan import FormPlan, Plan
from lane.plan.pool import PoolPlan


def dump(plan: Plan, form: FormPlan, name: str) -> str:
    """The text of what the pass `name` made of a form, or of all of them."""
    return DUMPS[name](plan, form)


def _lines(lines: Iterator[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _link(plan: Plan, form: FormPlan) -> str:
    launches = form.schedule.launches
    return _lines(f"{i:4d} {item.launch}  ops={','.join(map(str, item.ops)) or '-'}" for i, item in enumerate(launches))


def _streams(plan: Plan, form: FormPlan) -> str:
    launches = form.schedule.launches

    def lines() -> Iterator[str]:
        yield f"streams {form.streams.streams}"
        for number, stream, waits in form.streams.issues:
            if not isinstance(launches[number].launch, View):
                waiting = f"  waits {','.join(map(str, waits))}" if waits else ""
                yield f"{number:4d} stream {stream} {launches[number].launch.kind}{waiting}"
        if form.streams.joins:
            yield f"joins {','.join(map(str, form.streams.joins))}"

    return _lines(lines())


def _arena(plan: Plan, form: FormPlan) -> str:
    arena = form.arena

    def lines() -> Iterator[str]:
        yield f"arena {arena.total_bytes} bytes, lower bound {arena.lower_bound_bytes}, by {arena.strategy}"
        for array in arena.arrays:
            yield f"{array.offset_bytes:10d} {array.size_bytes:10d} {array.buffer} {array.component.value}"

    return _lines(lines())


def _pool_lines(name: str, pool: PoolPlan) -> Iterator[str]:
    yield f"{name} {pool.total_bytes} bytes"
    for part in pool.parts:
        yield f"{part.offset_bytes:10d} {part.size_bytes:10d} {part.buffer.name} {part.buffer.fill.value}"


def _pool(plan: Plan, form: FormPlan) -> str:
    return _lines(_pool_lines("pool", plan.pool)) + _lines(_pool_lines("state", plan.state))


def _residence(plan: Plan, form: FormPlan) -> str:
    moves = (f"{m.size_bytes:12d} {m.read_bytes:14.0f} {m.rows.format} {m.name}" for m in plan.move_order)
    return "matrices in the order in which they move: bytes, bytes that a decode step reads\n" + _lines(moves)


def _placement(plan: Plan, form: FormPlan) -> str:
    def lines() -> Iterator[str]:
        for name, place in form.places.items():
            offsets = " ".join(f"{component.value}={at}" for component, at in place.offsets.items())
            yield f"{name} {place.space.value} {offsets}"

    return _lines(lines())


DUMPS: Mapping[str, Callable[[Plan, FormPlan], str]] = {
    "step": lambda plan, form: graph_text(form.graph),
    "link": _link,
    "schedule": lambda plan, form: form.schedule.dump(),
    "streams": _streams,
    "arena": _arena,
    "pool": _pool,
    "residence": _residence,
    "placement": _placement,
}
