"""How a prompt is cut into steps."""

from __future__ import annotations

from lane import _core
from lane.errors import UsageError
from lane.models.step import CHUNK_ROWS


def cut(count: int, largest: int | None = None) -> list[int]:
    """Row counts of the steps over `count` tokens: the largest chunks that fit, the decode step for a last odd one.

    `largest` bounds a chunk's rows (1: the decode step alone).
    """
    limit = CHUNK_ROWS[-1] if largest is None else largest
    if limit < 1:
        raise UsageError(f"prefill: chunks of {limit} rows: allowed 1 to {CHUNK_ROWS[-1]}")
    return list(_core.cut_steps(count, [1, *(rows for rows in CHUNK_ROWS if rows <= limit)]))
