"""Chips by name: the numbers that plans and estimates are made with.

From the makers' data sheets: memory bandwidth, dense rates without sparsity. Device memory is what drivers report,
error correction on. A bus counts what large reads of mapped host memory reach, about four fifths of the link's raw rate
each way. What is in no data sheet is estimated, not measured: a launch in a captured graph takes about 2 µs from its
predecessor's end to its own, an event between streams, there an edge between branches, about 1 µs more, and a context
with its modules half a gibibyte.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lane.errors import UsageError

CONTEXT_BYTES = 512 << 20
LAUNCH_US = 2.0
EVENT_US = 1.0


@dataclass(frozen=True, slots=True)
class Chip:
    """One device: bytes, bytes a second, operations a second."""

    name: str
    device_bytes: int
    bandwidth: float
    bus_bandwidth: float
    int8_rate: float
    f32_rate: float
    launch_us: float = LAUNCH_US
    event_us: float = EVENT_US


def _chip(name: str, mib: int, gb_s: float, bus_gb_s: float, int8_tops: float, f32_tflops: float) -> Chip:
    return Chip(name, mib << 20, gb_s * 1e9, bus_gb_s * 1e9, int8_tops * 1e12, f32_tflops * 1e12)


CHIPS: Mapping[str, Chip] = {
    chip.name: chip
    for chip in (
        _chip("t4", 15360, 320, 12.5, 130, 8.1),
        _chip("rtx3090", 24576, 936, 25, 284, 35.6),
        _chip("a100-40", 40960, 1555, 25, 624, 19.5),
        _chip("a100-80", 81920, 2039, 25, 624, 19.5),
        _chip("l4", 23034, 300, 25, 242, 30.3),
        _chip("rtx4090", 24564, 1008, 25, 660, 82.6),
        _chip("h100", 81559, 3350, 50, 1979, 67),
        _chip("h200", 143771, 4800, 50, 1979, 67),
        _chip("rtx5090", 32607, 1792, 50, 838, 104.8),
    )
}


def chip_named(name: str) -> Chip:
    """A chip of the table; UsageError for another."""
    if name not in CHIPS:
        raise UsageError(f"chip: '{name}', allowed {', '.join(CHIPS)}")
    return CHIPS[name]
