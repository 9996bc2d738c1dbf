"""`lane fit`: the report's numbers as text and JSON, sizes as people write them, and the exit code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt
import pytest

from bench.make_checkpoint import Size, make
from lane.checkpoint.gguf import Checkpoint
from lane.cli.fit import size_of
from lane.launch.record import Numerics
from lane.limits import memory_limit
from lane.plan.chips import CHIPS
from lane.report.fit import DEFAULT_FORMS, device_named, fit
from tests.py.cli.conftest import Lane

LARGE = Size(layers=80, embd=8192, ff=28672, heads=64, kv_heads=8, vocab=32000, context=32768)


@pytest.mark.parametrize("numerics", [n.value for n in Numerics])
@pytest.mark.parametrize("chip", ["cpu", "l4"])
def test_numbers(lane: Lane, model: Path, chip: str, numerics: str) -> None:
    outcome = lane("fit", model, "--chip", chip, "--ctx", 64, "--numerics", numerics, "--forms", "1,8,32", "--json")
    assert outcome.code == 0
    report = fit(model, context=64, forms=(1, 8, 32), numerics=Numerics(numerics), device=device_named(chip))
    assert json.loads(outcome.out) == json.loads(json.dumps(report.as_json()))
    assert report.forms == (1, 8, 32) and report.context == 64


def test_text_has_every_part_to_the_byte(lane: Lane, model: Path) -> None:
    outcome = lane("fit", model, "--chip", "rtx4090")
    report = fit(model, device=device_named("rtx4090"))
    assert outcome.code == 0
    parts = dict(re.findall(r"^  (\S.*?)  +([\d,]+) B\b", outcome.out.split("choices")[0], re.MULTILINE))
    carved = {
        **{f"matrices {format}": size_bytes for format, size_bytes in report.matrix_bytes.items()},
        "caches and state": report.cache_bytes,
        "constants": report.constant_bytes,
        "io": report.io_bytes,
        "arena": report.arena_bytes,
    }
    assert {name: int(size.replace(",", "")) for name, size in parts.items()} == {
        **carved,
        "all": sum(carved.values()),
        "budget": report.budget_bytes,
        "graphs' spare beside it": report.spare_bytes,
    }
    assert "steps of 1, 2, 4, 8, 16, 32, 64, 128, 256, 512 rows" in outcome.out
    assert outcome.out.endswith("\nfits\n")


def test_on_the_cpu_nothing_moves(lane: Lane, model: Path) -> None:
    outcome = lane("fit", model)
    assert outcome.out.startswith("on cpu: ")
    assert f"{model.stat().st_size:,} B" in outcome.out
    assert "moves" not in outcome.out
    assert f"{memory_limit().bytes:,} B" in outcome.out  # its budget


@pytest.mark.parametrize("context", [512, 513])
def test_a_context_beyond_the_model_s_own_is_said(lane: Lane, model: Path, context: int) -> None:
    outcome = lane("fit", model, "--ctx", context)
    assert (outcome.code, outcome.out.endswith("\nfits\n")) == (0, True)
    assert ("warning: context: 513 positions, of which the model was made for 512" in outcome.out) == (context > 512)


def test_a_number_of_bytes_alone_is_a_device(lane: Lane, model: Path) -> None:
    whole = json.loads(lane("fit", model, "--device-bytes", "1T", "--json").out)
    assert (whole["device"], whole["fits"], len(whole["choices"])) == ("device", True, 1)
    less = whole["choices"][0]["device_bytes"] - 1
    outcome = lane("fit", model, "--device-bytes", less)
    assert outcome.code == 0
    assert "within the budget" in outcome.out and "moves token_embd.weight" in outcome.out
    assert "tok/s" not in outcome.out  # nothing is known of its rates


def test_what_does_not_fit_is_reported_and_then_refused(lane: Lane, model: Path) -> None:
    outcome = lane("fit", model, "--chip", "t4", "--device-bytes", "10K")
    assert outcome.code == 5
    assert "no context fits with nothing moved" in outcome.out
    assert outcome.out.endswith("does not fit\n")
    assert re.search(r"residence: an arena of \d+ bytes and \d+ bytes that cannot move, allowed 10240", outcome.error())
    assert json.loads(lane("fit", model, "--device-bytes", "10K", "--json").out)["fits"] is False


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("0", 0),
        ("8000000000", 8 * 10**9),
        ("24G", 24 << 30),
        ("7.5G", 15 << 29),
        ("512M", 512 << 20),
        ("3k", 3 << 10),
        ("1T", 1 << 40),
        ("2 GiB", 2 << 30),
        ("8GB", 8 * 10**9),
        ("1.5kB", 1500),
        ("100B", 100),
    ],
)
def test_sizes(text: str, size_bytes: int) -> None:
    assert size_of(text) == size_bytes


@pytest.mark.parametrize("text", ["", "G", "-1G", "1E", "1.G", "0x10", "8 G B", "1e9", "nan"])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="allowed a number of bytes"):
        size_of(text)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--device-bytes", "lots"), "allowed a number of bytes"),
        (("--forms", "1;2"), "allowed row counts between commas"),
        (("--forms", "1,3"), f"a form of 3 rows, allowed {', '.join(map(str, DEFAULT_FORMS))}"),
        (("--chip", "abacus"), "'abacus' is not one of"),
    ],
)
def test_refusals(lane: Lane, model: Path, arguments: tuple[str, ...], said: str) -> None:
    outcome = lane("fit", model, *arguments)
    assert outcome.code == 2
    assert said in outcome.err and not outcome.out


@pytest.mark.parametrize("chip", ["h100", "l4"])
def test_no_matrix_is_read(lane: Lane, large: Path, chip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 38 GB nothing: constants too have their shapes before their values are made."""
    read: set[str] = set()
    data = Checkpoint.data

    def noted(checkpoint: Checkpoint, name: str) -> npt.NDArray[np.uint8]:
        read.add(name)
        return data(checkpoint, name)

    monkeypatch.setattr(Checkpoint, "data", noted)
    outcome = lane("fit", large, "--chip", chip, "--json")
    assert outcome.code == 0
    assert not read
    report = json.loads(outcome.out)
    assert report["choices"][0]["device_bytes"] > 38 * 10**9
    assert (len(report["choices"]) == 1) == (report["choices"][0]["device_bytes"] <= report["budget_bytes"])
    assert report["budget_bytes"] < CHIPS[chip].device_bytes


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint as large as a llama of 70 billion parameters, its tensors holes in the file."""
    path = tmp_path_factory.mktemp("large") / "large.gguf"
    make(path, "llama", LARGE, ("Q4_K", "Q6_K"), sparse=True)
    return path
