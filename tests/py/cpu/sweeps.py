"""Which launch kinds the device's sweeps run: `@sweeps(Norm)` stands beside each.

A marked test fails unless it has run a launch of those kinds; `test_kinds.py` fails for a kind with a kernel that no
test is marked for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from lane.launch.record import Launch

Test = Callable[..., None]

SWEEPS: dict[type[Launch], list[Test]] = {}
_ran: set[type[Launch]] = set()


def note(launches: Iterable[Launch]) -> None:
    """Takes down what a device was given to run."""
    _ran.update(map(type, launches))


def sweeps(*kinds: type[Launch]) -> Callable[[Test], Test]:
    """Marks a test that runs launches of these kinds over lengths, shapes and formats."""

    def mark(test: Test) -> Test:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> None:
            _ran.clear()
            test(*args, **kwargs)
            assert _ran >= set(kinds), f"{test.__name__} is a sweep of {kinds}, but ran {_ran}"

        for kind in kinds:
            SWEEPS.setdefault(kind, []).append(run)
        return run

    return mark
