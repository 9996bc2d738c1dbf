"""A schedule in numbers: parts and rows of tensors are the bytes that the launches say."""

from __future__ import annotations

import pytest

from lane.graph import ops as g
from lane.graph.graph import StepGraph
from lane.graph.tensor import Role, Tensor
from lane.launch.data import SetRow
from lane.launch.elementwise import Scale
from lane.launch.fields import DestMode
from lane.launch.norm import Norm
from lane.launch.record import Dest, Launch, Numerics
from lane.link.link import Linked, link
from lane.plan.step import LoweredStep
from lane.plan.step_plan import PlanError, plan_step
from lane.schedule.buffers import ScheduleError
from lane.schedule.schedule import Schedule, schedule_linked
from tests.py.support.graphs import Step, matrix, ones

JOINED = Tensor("joined", 4, 128, Role.ACTIVATION)  # made by link: the graph has none of this name


def graph() -> StepGraph:
    s = Step(4)
    x = s.add(g.Gather(s.tensor(matrix("table", 40, 64)), s.tokens, "x", 4))
    s.add(g.RmsNorm(x, s.tensor(ones("w", 64)), "normed", 64, 1e-6))
    return s.close(s.add(g.MatMul("normed", s.builder.tensor(matrix("table", 40, 64)), "logits")))


def half(offset: int) -> Norm:
    """A norm of x into half of every row of the joined tensor."""
    dest = Dest("joined", DestMode.PART, pitch=128, offset=offset)
    return Norm("x", "w", None, None, 4, 64, 1e-6, into=dest)


def with_launches(*launches: Launch) -> Schedule:
    """The graph's schedule under precise, in which these launches come after the gather."""
    linked = link(graph(), Numerics.PRECISE)
    made = [Linked(launch, (), (JOINED,)) for launch in launches]
    return schedule_linked(graph(), (linked[0], *made, *linked[1:]), Numerics.PRECISE)


READ_JOINED = Scale("joined", "joined", 4 * 128, 2.0)


def test_a_tensor_that_link_makes_is_written_part_by_part() -> None:
    s = with_launches(half(0), half(64), READ_JOINED)
    assert str(s.buffers["joined"]) == "joined computed f32[512] plain"
    plan = plan_step(s)
    assert [a.size_bytes for a in plan.arena.arrays if a.buffer == "joined"] == [4 * 128 * 4]


@pytest.mark.parametrize("launches", [(half(0),), (half(64),), (half(0), half(0)), (half(0), half(63))])
def test_what_no_part_wrote_is_found(launches: tuple[Launch, ...]) -> None:
    with pytest.raises(PlanError, match=r"unwritten: .*'joined plain'"):
        plan_step(with_launches(*launches, READ_JOINED))


def test_a_part_past_a_tensor_s_end_is_found() -> None:
    with pytest.raises(PlanError, match=r"bounds: .*'joined plain'"):
        plan_step(with_launches(half(0), half(65), READ_JOINED))


def test_rows_at_a_fixed_place_are_its_rows() -> None:
    """A stack's rows set one after the other; the last one missing is found."""
    stack = [SetRow("joined", None, "x", 128, 1, row=r) for r in range(4)]
    plan_step(with_launches(*stack, READ_JOINED))
    with pytest.raises(PlanError, match=r"unwritten: .*'joined plain'"):
        plan_step(with_launches(*stack[:3], READ_JOINED))


def test_rows_known_only_as_it_runs_are_no_way_to_write_a_step_s_own_tensor() -> None:
    with pytest.raises(ScheduleError, match="rows of step-local 'joined' that are known only as it runs, allowed rows"):
        LoweredStep(with_launches(SetRow("joined", "pos", "x", 128, 2), READ_JOINED))
