"""`lane plan`: the report agrees with the schedule it reports on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lane.devices.image import write_image
from lane.devices.lowering import lower_plan
from lane.errors import ExitCode
from lane.graph.graph import Head
from lane.launch.record import Numerics
from lane.pipeline import Options, compile_plan, open_model
from lane.plan.cpu_target import this_cpu
from lane.plan.plan import FormKey, FormPlan
from lane.report.dump import DUMPS
from tests.py.cli.conftest import Lane


def compiled(model: Path, key: FormKey, numerics: Numerics = Numerics.INT8) -> FormPlan:
    return compile_plan(open_model(model, 64)[1], [key], Options(numerics, target=this_cpu())).form(key)


@pytest.mark.parametrize("numerics", ["precise", "int8", "int8x2"])
@pytest.mark.parametrize(("rows", "head"), [(1, "last"), (16, "last"), (16, "all")])
def test_numbers(lane: Lane, model: Path, rows: int, head: str, numerics: str) -> None:
    outcome = lane("plan", model, "--rows", rows, "--head", head, "--numerics", numerics, "--ctx", 64, "--json")
    found = json.loads(outcome.out)
    form = compiled(model, FormKey(rows, Head(head)), Numerics(numerics))
    schedule = form.schedule
    assert {use["kind"]: use["launches"] for use in found["kinds"]} == schedule.census()
    assert found["launches"] == len(list(schedule.executed()))
    assert found["operations"] == schedule.operations()
    assert found["bytes_moved"] == sum(schedule.bytes_moved(item) for item in schedule.executed())
    assert found["arena_bytes"] == form.arena.total_bytes >= found["arena_lower_bound_bytes"] > 0
    assert (found["rows"], found["head"], found["context"]) == (rows, head, 64)


def test_dump_is_the_schedule_s(lane: Lane, model: Path) -> None:
    form = compiled(model, FormKey(4))
    assert lane("plan", model, "--rows", 4, "--ctx", 64, "--dump").out == form.schedule.dump()


@pytest.mark.parametrize("name", DUMPS)
def test_every_pass_can_be_read(lane: Lane, model: Path, name: str) -> None:
    form = compiled(model, FormKey(4))
    outcome = lane("plan", model, "--rows", 4, "--ctx", 64, "--dump", name)
    assert outcome.code == 0
    words = set(outcome.out.split())
    in_the_pool = {n for n, place in form.places.items() if place.space.value in ("pool", "state")}
    wanted = {
        "step": {tensor for tensor in form.graph.tensors if form.graph.tensors[tensor].role.value != "activation"},
        "link": {item.launch.kind for item in form.schedule.launches},
        "schedule": set(form.schedule.buffers),
        "streams": {item.launch.kind for item in form.schedule.executed()},
        "arena": {array.buffer for array in form.arena.arrays},
        "pool": in_the_pool - {form.schedule.io.logits},
        "residence": {n for n, place in form.places.items() if place.space.value == "matrix"},
        "placement": set(form.places),
    }[name]
    assert wanted and wanted <= words


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
    form = compiled(model, FormKey(rows))
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


def test_save_writes_every_form_for_hosts(lane: Lane, model: Path, tmp_path: Path) -> None:
    outcome = lane("plan", model, "--ctx", 64, "--threads", 3, "--save", tmp_path / "plan")
    assert (outcome.code, outcome.out) == (0, "")
    checkpoint, recognised = open_model(model, 64)
    keys = [FormKey(rows) for rows in (2, 4, 8, 16, 32, 64)]
    plan = compile_plan(recognised, keys, Options(Numerics.INT8, target=this_cpu(3)))
    write_image(tmp_path / "expected", lower_plan(checkpoint, plan))
    assert (tmp_path / "plan").read_bytes() == (tmp_path / "expected").read_bytes()


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--save", "plan", "--json"), ExitCode.USAGE, "--save and --json"),
        (("--save", "plan", "--device", "reference"), ExitCode.UNSUPPORTED, "device reference, allowed cpu"),
        (("--save", "none/plan"), ExitCode.SYSTEM, "none/plan"),
    ],
)
def test_save_is_refused(
    lane: Lane,
    model: Path,
    options: tuple[str, ...],
    code: ExitCode,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = lane("plan", model.absolute(), "--ctx", 64, *options)
    assert outcome.code == code
    assert said in outcome.error()
    assert not list(tmp_path.iterdir())
