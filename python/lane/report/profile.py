"""Where a step's time goes, launch by launch.

Enters: a session. Leaves: each launch with its median time over some runs, and the same summed by kind. The runs are at
one position, over carried state that holds nothing yet: what a launch costs does not depend on the values.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lane.errors import CapacityError
from lane.launch.record import Launch
from lane.plan.plan import FormKey
from lane.session import Session

RUNS = 5  # after one that touches the weights


@dataclass(frozen=True, slots=True)
class LaunchTime:
    """One launch and the median of its times."""

    launch: Launch
    seconds: float


@dataclass(frozen=True, slots=True)
class KindTime:
    """The launches of one kind together."""

    kind: str
    launches: int
    seconds: float


def profile(session: Session, rows: int, position: int) -> list[LaunchTime]:
    """Times the step over `rows` rows from `position` on; CapacityError when they exceed the context."""
    context = session.engine.context
    if position + rows > context:
        raise CapacityError(f"profile: {rows} rows from position {position} on, allowed {context} (the context)")
    session.engine.require([FormKey(rows)])
    session.begin()
    runs = [session.device.profile(rows, position) for _ in range(RUNS + 1)][1:]
    return [
        LaunchTime(launches[0][0], statistics.median(ns for _, ns in launches) / 1e9)
        for launches in zip(*runs, strict=True)
    ]


def by_kind(times: Sequence[LaunchTime]) -> list[KindTime]:
    """By falling time."""
    groups: dict[str, list[float]] = defaultdict(list)
    for time in times:
        groups[time.launch.kind].append(time.seconds)
    kinds = [KindTime(kind, len(seconds), sum(seconds)) for kind, seconds in groups.items()]
    return sorted(kinds, key=lambda kind: -kind.seconds)
