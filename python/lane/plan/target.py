"""What a plan is made for: a device, as far as plans depend on it."""

from __future__ import annotations

from typing import Protocol

from lane.schedule.schedule import Schedule


class Target(Protocol):
    """A device to plan for."""

    def with_workspace(self, schedule: Schedule) -> tuple[Schedule, int]:
        """The schedule with what its launches have for themselves there, and the most bytes that the threads of a CPU
        have besides at any launch, all together."""
