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


# What the CPU's kernels take at once, and what makes a task of theirs.
CPU_TILES: tuple[Tile, ...] = (
    Tile("cpu_panel_cols", 16, "matrix rows of a GEMM panel: one or two vectors for each of a tile's sums"),
    Tile("cpu_tile_streams", 4, "word rows of a GEMM tile: their sums by a panel's vectors fit sixteen registers"),
    Tile("cpu_float_cols", 4, "matrix rows that a float tile multiplies at once: their sums are folded by fours"),
    Tile("cpu_row_tile", 24, "rows that stay in the second cache beside a float panel: a multiple of three"),
    Tile("cpu_float_panel_cols", 64, "matrix rows of a float task: many, so that x is seldom read from afar"),
    Tile("cpu_decoded_panel_cols", 16, "matrix rows of a task that decodes them first: its thread holds them in f32"),
    Tile("cpu_gemv_rows", 3, "rows from which on unpacking a panel once beats unpacking a chunk a row"),
    Tile("cpu_row_step", 16, "matrix rows that a GEMV task is a multiple of: whole cache lines of its result"),
    Tile("cpu_tasks_per_thread", 8, "tasks that a thread should find, so that the others make up for a late one"),
    Tile("cpu_task_bytes", 8192, "matrix bytes of the least GEMV task: a microsecond, so that taking it costs little"),
    Tile("cpu_task_elems", 8192, "values of an elementwise task: some microseconds, a multiple of a quantised block"),
    Tile("cpu_span_chunk", 64, "cached positions whose softmax is taken on its own, then merged"),
    Tile("cpu_task_queries", 48, "queries of an attention task: enough that keys and values are used while cached"),
    Tile("cpu_task_rows", 16, "rows of an attention task at most, however few heads share a key"),
    Tile("cpu_split_rows", 4, "rows up to which an attention's chunks are tasks of their own"),
)

TILES: tuple[Tile, ...] = (Tile("warp_threads", 32, "threads that run in step on every CUDA device"), *CPU_TILES)


def tile(name: str) -> int:
    """A size by its name."""
    return next(t.value for t in TILES if t.name == name)
