"""`lane fit`: what it says before loading is what loading then takes, and what it promises at the edge holds."""

from __future__ import annotations

import json

import pytest

from lane.devices.registry import DeviceOptions
from lane.engine import Engine
from lane.errors import UsageError
from lane.launch.record import Numerics
from lane.pipeline import Options
from lane.plan.chips import CHIPS, CONTEXT_BYTES
from lane.report.fit import CPU, DEFAULT_FORMS, UNNAMED, Device, FitReport, device_named, fit
from tests.py.support.fixtures import BY_NAME, FAMILIES, Fixture

LLAMA = BY_NAME["llama"].path


@pytest.mark.parametrize("numerics", Numerics)
@pytest.mark.parametrize("fixture", FAMILIES, ids=lambda f: f.name)
def test_the_cpu_allocates_what_was_said(fixture: Fixture, numerics: Numerics) -> None:
    checkpoint, model = fixture.open(128)
    engine = Engine(checkpoint, model, Options(numerics), device_options=DeviceOptions(threads=1))
    forms = [1, 2, 4, 32, 64]
    engine.require_prompt(sum(forms) - 1)
    engine.open()
    report = fit(fixture.path, context=128, forms=forms, numerics=numerics, threads=1)
    memory = engine.device.memory()
    assert report.mapped_bytes == memory.checkpoint
    assert report.cache_bytes == memory.caches
    assert report.constant_bytes == memory.constants
    assert report.io_bytes == memory.io
    assert report.arena_bytes == memory.arena
    assert report.scratch_bytes == memory.scratch
    held = memory.caches + memory.constants + memory.io + memory.arena + memory.scratch
    assert report.choices[0].device_bytes == held


def test_all_parts_add_up_on_a_chip() -> None:
    report = fit(LLAMA, device=device_named("l4"))
    assert report.fits and report.forms == DEFAULT_FORMS
    assert report.budget_bytes == CHIPS["l4"].device_bytes - CONTEXT_BYTES - report.spare_bytes
    [choice] = report.choices
    assert choice.device_bytes == report.pool_bytes + report.arena_bytes + sum(report.matrix_bytes.values())
    assert choice.moved == () and choice.host_bytes == 0
    assert choice.decode_rate and choice.prefill_rate and choice.prefill_rate > choice.decode_rate


def test_a_small_budget_moves_matrices_and_costs_time() -> None:
    whole = fit(LLAMA, device=device_named("l4"))
    fixed = whole.pool_bytes + whole.arena_bytes
    last = None
    for part in (0.75, 0.5, 0.25, 0.0):
        budget = fixed + int(part * sum(whole.matrix_bytes.values()))
        report = fit(LLAMA, device=device_named("l4"), budget_bytes=budget)
        assert report.fits
        unmoved, within = report.choices
        assert unmoved == whole.choices[0]
        assert within.device_bytes <= budget
        assert within.device_bytes + within.host_bytes == unmoved.device_bytes
        assert last is None or within.host_bytes > last
        last = within.host_bytes
        assert within.decode_rate is not None and unmoved.decode_rate is not None
        assert within.decode_rate <= unmoved.decode_rate
    assert len(within.moved) == len(set(within.moved)) and within.device_bytes == fixed


def test_too_small_a_budget_is_an_answer() -> None:
    report = fit(LLAMA, device=device_named("l4"), budget_bytes=1000)
    assert not report.fits
    assert report.refusal is not None and report.refusal.startswith("residence: an arena of ")
    assert [choice.name for choice in report.choices] == ["nothing moved"]
    assert report.longest_context == 0


@pytest.mark.parametrize("device", [CPU, UNNAMED], ids=lambda device: device.name)
def test_the_longest_context_fits_and_one_more_does_not(device: Device) -> None:
    def needed(context: int) -> int:
        return fit(LLAMA, device=device, context=context, forms=(1, 32)).choices[0].device_bytes

    for context in (64, 100, 177):
        budget = needed(context)
        report = fit(LLAMA, device=device, context=64, forms=(1, 32), budget_bytes=budget)
        assert report.longest_context is not None and report.longest_context >= context
        assert needed(report.longest_context) <= budget < needed(report.longest_context + 1)
    assert fit(LLAMA, device=device, budget_bytes=1 << 40).longest_context == model_context()


def model_context() -> int:
    return BY_NAME["llama"].model().config.context


def test_the_report_is_json() -> None:
    report: FitReport = fit(LLAMA, device=device_named("h100"))
    again = json.loads(json.dumps(report.as_json()))
    assert again["fits"] is True
    assert again["choices"][0]["name"] == "nothing moved"


def test_unknown_forms_are_refused() -> None:
    with pytest.raises(UsageError, match="fit: a form of 3 rows, allowed 1, 2, 4"):
        fit(LLAMA, forms=(1, 3))
