"""Tile sizes, thread counts and task sizes: each declared here once, with its reason, and generated into `lane_spec.h`.

Enters: nothing. Leaves: named whole numbers that kernels, planners, sweeps and benchmarks read.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tile:
    """A named size: `kName` in C++. `why` says what it was chosen by."""

    name: str
    value: int
    why: str


TILES: tuple[Tile, ...] = (Tile("warp_threads", 32, "threads that run in step on every CUDA device"),)


def tile(name: str) -> int:
    """A size by its name."""
    return next(t.value for t in TILES if t.name == name)
