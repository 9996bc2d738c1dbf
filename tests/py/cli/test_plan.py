"""`lane plan`: the report agrees with the schedule it reports on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lane.graph.graph import Head
from lane.launch.record import Numerics
from lane.pipeline import Lane as Compiled
from lane.pipeline import open_model
from tests.py.cli.conftest import Lane


@pytest.mark.parametrize("numerics", ["precise", "int8", "int8x2"])
@pytest.mark.parametrize(("rows", "head"), [(1, "last"), (16, "last"), (16, "all")])
def test_numbers(lane: Lane, model: Path, rows: int, head: str, numerics: str) -> None:
    outcome = lane("plan", model, "--rows", rows, "--head", head, "--numerics", numerics, "--ctx", 64, "--json")
    found = json.loads(outcome.out)
    form = Compiled(open_model(model, 64)[1], Numerics(numerics)).form(rows, Head(head))
    schedule = form.schedule
    assert {use["kind"]: use["launches"] for use in found["kinds"]} == schedule.census()
    assert found["launches"] == len(list(schedule.executed()))
    assert found["operations"] == schedule.operations()
    assert found["bytes_moved"] == sum(schedule.bytes_moved(item) for item in schedule.executed())
    assert found["arena_bytes"] == form.arena.total_bytes >= found["arena_lower_bound_bytes"] > 0
    assert (found["rows"], found["head"], found["context"]) == (rows, head, 64)


def test_dump_is_the_schedule_s(lane: Lane, model: Path) -> None:
    form = Compiled(open_model(model, 64)[1], Numerics.INT8).form(4)
    assert lane("plan", model, "--rows", 4, "--ctx", 64, "--dump").out == form.schedule.dump()


def test_text(lane: Lane, model: Path) -> None:
    outcome = lane("plan", model)
    assert outcome.code == 0
    for wanted in ("step of 1 rows, head last, int8", "gemv", "attention", "arena", "buffers"):
        assert wanted in outcome.out


@pytest.mark.parametrize("rows", [1, 8])
def test_profile_times_every_launch(lane: Lane, model: Path, rows: int) -> None:
    outcome = lane("plan", model, "--rows", rows, "--position", 3, "--ctx", 64, "--profile")
    assert outcome.code == 0
    launches, kinds = outcome.out.split("by kind\n")
    form = Compiled(open_model(model, 64)[1], Numerics.INT8).form(rows)
    timed = [line.split(" us  ", 1)[1].strip() for line in launches.splitlines()]
    assert timed == [str(item.launch) for item in form.schedule.executed()]
    assert re.search(r"all +\d+ +[\d.]+ us +100.0 %", kinds)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--dump", "--json"), 2, "more than one"),
        (("--profile", "--head", "all"), 2, "--head last"),
        (("--profile", "--ctx", "8", "--position", "8"), 5, "allowed 8 (the context)"),
        (("--ctx", "16", "--rows", "512"), 5, "a step of 512 rows, allowed 16 (the context)"),
    ],
)
def test_refusals(lane: Lane, model: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    outcome = lane("plan", model, *arguments)
    assert outcome.code == code
    assert said in outcome.error()
