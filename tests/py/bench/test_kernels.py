"""The kernels' bench on small sizes: a line for every launch, rates that are its own bytes and work by its time."""

from __future__ import annotations

import pytest

from bench import kernels
from lane.quant.registry import format_named


def test_a_line_a_launch(capsys: pytest.CaptureFixture[str]) -> None:
    kernels.main(["--formats", "Q8_0", "F32", "--matrix", "64", "256", "--threads", "2", "--numerics", "int8x2"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[:8]] == [[f, str(m)] for f in ("Q8_0", "F32") for m in kernels.ROWS]
    assert all(line.startswith("attention") for line in lines[8:])
    assert len(lines) == 8 + 2 * len(kernels.SPANS)


def test_rates() -> None:
    rate = kernels.Rate("Q8_0", 4, 0.5e-3, 2_000_000, 3_000_000)
    assert str(rate).split() == ["Q8_0", "4", "rows", "500.0", "us", "4.0", "GB/s", "6.0", "GMAC/s"]


def test_bytes_are_the_matrix_s_own() -> None:
    format = format_named("Q4_1")
    for rate in kernels.projections(format, (48, 64), 1, kernels.Numerics.INT8, None):
        assert rate.bytes_read == 48 * 2 * format.block_bytes
        assert rate.multiply_adds == 48 * 64 * rate.rows
