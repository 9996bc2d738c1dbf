"""`lane bench`: rows, columns and statistics; what the numbers are is the machine's affair."""

from __future__ import annotations

import csv
import io
import json
import statistics
from pathlib import Path

import pytest

from lane.report.bench import BenchRow
from tests.py.cli.checkpoints import changed, replaced
from tests.py.cli.conftest import Lane

SHORT = ("-p", "20", "-n", "4", "-r", "3")


def test_json(lane: Lane, model: Path) -> None:
    outcome = lane("bench", model, *SHORT, "--threads", "1", "--numerics", "int8x2", "-o", "json")
    rows = json.loads(outcome.out)
    assert [row["test"] for row in rows] == ["pp20", "tg4"]
    for row in rows:
        assert len(row["rates"]) == 3 and all(rate > 0 for rate in row["rates"])
        assert row["mean"] == pytest.approx(statistics.fmean(row["rates"]))
        assert row["deviation"] == pytest.approx(statistics.stdev(row["rates"]))
        assert (row["threads"], row["numerics"], row["device"]) == (1, "int8x2", "cpu")
        assert row["bytes"] == model.stat().st_size


def test_csv(lane: Lane, model: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(lane("bench", model, *SHORT, "-o", "csv").out)))
    assert [row["test"] for row in rows] == ["pp20", "tg4"]
    for row in rows:
        rates = [float(rate) for rate in row["rates"].split()]
        assert float(row["mean"]) == pytest.approx(statistics.fmean(rates), abs=0.01)


def test_table(lane: Lane, model: Path) -> None:
    lines = lane("bench", model, *SHORT).out.splitlines()
    assert len(lines) == 4
    assert len({len(line) for line in lines}) == 1
    assert "pp20" in lines[2] and "tg4" in lines[3] and "±" in lines[3]


@pytest.mark.parametrize("form", ["table", "csv"])
def test_a_name_that_no_terminal_should_see_as_it_is(lane: Lane, folder: Path, form: str) -> None:
    path = changed(folder, "bench_name", replaced(b"random llama", b"ran\x1b[31m\nl|a"))
    out = lane("bench", path, "-p", "2", "-n", "0", "-r", "1", "-o", form).out
    assert (r"ran\x1b[31m\nl\|a" if form == "table" else r"ran\x1b[31m\nl|a") in out
    assert out.replace("\n", "").isprintable()


@pytest.mark.parametrize(("arguments", "tests"), [(("-p", "0", "-n", "3"), ["tg3"]), (("-p", "3", "-n", "0"), ["pp3"])])
def test_one_test_alone(lane: Lane, model: Path, arguments: tuple[str, ...], tests: list[str]) -> None:
    rows = json.loads(lane("bench", model, *arguments, "-r", "1", "-o", "json").out)
    assert [row["test"] for row in rows] == tests


def test_nothing_to_measure(lane: Lane, model: Path) -> None:
    outcome = lane("bench", model, "-p", "0", "-n", "0")
    assert outcome.code == 2
    assert "-p 0 -n 0" in outcome.error()


def test_deviation_of_one_run_is_zero() -> None:
    assert BenchRow("pp1", 1, (5.0,)).deviation == 0.0
