"""How a prompt is cut into steps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lane.devices.chunks import cut
from lane.errors import UsageError
from lane.models.step import CHUNK_ROWS


def test_the_largest_chunks_that_fit() -> None:
    assert cut(700) == [512, 128, 32, 16, 8, 4]
    assert cut(1025) == [512, 512, 1]
    assert cut(5, 4) == [4, 1]
    assert cut(5, 3) == [2, 2, 1]
    assert cut(3, 1) == [1, 1, 1]
    assert cut(0) == []


@given(st.integers(0, 5000), st.none() | st.integers(1, 600))
def test_cut(count: int, largest: int | None) -> None:
    sizes = cut(count, largest)
    assert sum(sizes) == count
    assert set(sizes) <= {1, *CHUNK_ROWS}
    assert sizes == sorted(sizes, reverse=True)
    assert all(size <= (largest or CHUNK_ROWS[-1]) for size in sizes)


@pytest.mark.parametrize("largest", [0, -1])
def test_a_chunk_has_rows(largest: int) -> None:
    with pytest.raises(UsageError, match=f"chunks of {largest} rows: allowed 1 to 512"):
        cut(5, largest)
