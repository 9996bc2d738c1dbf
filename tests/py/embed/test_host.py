"""The example host says what the references say, and what lane itself says, of every family's fixture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lane
from lane.errors import ExitCode
from lane.launch.record import Numerics
from tests.py.embed.hosts import generate, run_host, write_plan
from tests.py.support.fixtures import FAMILIES, Fixture

LLAMA = Fixture("families", "llama")
GAP = 1e-3  # between the reference's best two logits: where it is larger, exact arithmetic has one best token
LENGTHS = (1, 2, 7, 33, 64)  # of prompts: the decode step alone, a chunk alone, several


@pytest.mark.parametrize("fixture", FAMILIES, ids=lambda fixture: fixture.name)
def test_best_tokens_of_the_reference(fixture: Fixture, tmp_path: Path) -> None:
    plan = write_plan(fixture.path, tmp_path / "plan", Numerics.PRECISE, fixture.context)
    reference = fixture.reference
    sure = 0
    for length in LENGTHS:
        logits = reference.logits[length - 1]
        second, best = np.argsort(logits)[-2:]
        if logits[best] - logits[second] > GAP:
            assert generate(fixture.path, plan, reference.tokens[:length], 1) == [best]
            sure += 1
    assert sure >= len(LENGTHS) - 1


@pytest.mark.parametrize("numerics", Numerics, ids=lambda numerics: numerics.value)
def test_tokens_of_lane(numerics: Numerics, tmp_path: Path) -> None:
    plan = write_plan(LLAMA.path, tmp_path / "plan", numerics)
    model = lane.load(LLAMA.path, numerics=numerics.value)
    for length in (1, 30):
        prompt = LLAMA.reference.tokens[:length]
        expected = [piece.id for piece in model.generate(prompt, 24)]
        assert generate(LLAMA.path, plan, prompt, len(expected)) == expected


def test_the_tokens_do_not_depend_on_the_threads_planned_for(tmp_path: Path) -> None:
    prompt = LLAMA.reference.tokens[:9]
    plans = [write_plan(LLAMA.path, tmp_path / f"{n}", Numerics.INT8, threads=n) for n in (1, 2, 64)]
    one, two, many = (generate(LLAMA.path, plan, prompt, 16) for plan in plans)
    assert one == two == many


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_plan(LLAMA.path, tmp_path_factory.mktemp("plans") / "plan", Numerics.INT8, 64)


def refused(plan: Path, code: ExitCode, said: str, *arguments: object, checkpoint: Path = LLAMA.path) -> None:
    outcome = run_host(checkpoint, plan, *arguments)
    assert outcome.code == code
    assert outcome.error.startswith("host: ")
    assert said in outcome.error
    assert outcome.error.count("\n") == 1


def test_requests_that_make_no_sense(plan: Path, tmp_path: Path) -> None:
    refused(plan, ExitCode.USAGE, "usage: host CHECKPOINT PLAN", 5)
    refused(plan, ExitCode.USAGE, "usage: host CHECKPOINT PLAN", "x", 1)
    refused(plan, ExitCode.USAGE, "usage: host CHECKPOINT PLAN", 5, "1x")
    refused(plan, ExitCode.USAGE, "token 1: found 99999", 5, 1, 99999)
    refused(plan, ExitCode.USAGE, "cannot be opened", 5, 1, checkpoint=tmp_path / "none")
    refused(tmp_path / "none", ExitCode.USAGE, "no file to read", 5, 1)


def test_what_does_not_fit_the_context(plan: Path) -> None:
    refused(plan, ExitCode.CAPACITY, "found 65 tokens, allowed 64", 1, *[1] * 65)
    outcome = run_host(LLAMA.path, plan, 6, *[1] * 60)
    assert (outcome.code, len(outcome.ids)) == (ExitCode.CAPACITY, 5)
    assert generate(LLAMA.path, plan, [1] * 60, 5) == outcome.ids


def test_another_checkpoint(plan: Path, tmp_path: Path) -> None:
    whole = LLAMA.path.read_bytes()
    other = tmp_path / "other.gguf"
    for changed, said in ((whole + b"\0", "bytes; allowed"), (b"GGUG" + whole[4:], "SHA-256")):
        other.write_bytes(changed)
        refused(plan, ExitCode.CHECKPOINT, said, 5, 1, checkpoint=other)
    refused(plan, ExitCode.CHECKPOINT, "bytes; allowed", 5, 1, checkpoint=plan)


def test_a_broken_plan(plan: Path, tmp_path: Path) -> None:
    whole = plan.read_bytes()
    broken = tmp_path / "broken"
    for at in range(0, len(whole), len(whole) // 50):
        for changed in (whole[:at], whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]):
            broken.write_bytes(changed)
            outcome = run_host(LLAMA.path, broken, 5, 1)
            assert outcome.code in (ExitCode.CHECKPOINT, ExitCode.UNSUPPORTED)
            assert "plan: " in outcome.error
