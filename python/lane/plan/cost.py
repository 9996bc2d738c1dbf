"""How long launches take on a chip, by a plain model.

A launch moves its bytes at the memory's rate and does its operations at the arithmetic's, whichever takes longer, and
no faster than a launch's own latency: t = max(latency, bytes / bandwidth, operations / rate). The part of that time in
which it would keep the whole device busy is its share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lane.launch.data import View
from lane.launch.fields import Storage
from lane.link.link import Linked
from lane.plan.chips import Chip
from lane.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True)
class LaunchCost:
    """A launch's time with the device to itself, and the share of the device that it keeps busy meanwhile."""

    alone_us: float
    share: float


def launch_cost(item: Linked, schedule: Schedule, chip: Chip) -> LaunchCost:
    """The cost of one launch; a view costs nothing."""
    if isinstance(item.launch, View):
        return LaunchCost(0.0, 0.0)
    quantised = any(access.storage is Storage.QUANT for access in item.launch.accesses())
    rate = chip.int8_rate if quantised else chip.f32_rate
    busy_us = 1e6 * max(schedule.bytes_moved(item) / chip.bandwidth, item.launch.operations() / rate)
    alone_us = max(chip.launch_us, busy_us)
    return LaunchCost(alone_us, busy_us / alone_us)


def launch_costs(schedule: Schedule, chip: Chip) -> Mapping[int, LaunchCost]:
    """The cost of every launch, by its number in the schedule."""
    return {number: launch_cost(item, schedule, chip) for number, item in enumerate(schedule.launches)}
