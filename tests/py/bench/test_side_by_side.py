"""Side by side: turns alternate on stand-ins for the two programs, and the summary is of ratios turn by turn."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bench import side_by_side
from bench.side_by_side import Setting, Turn, summary, turns


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    """A peer that prints what llama-bench prints, and notes each run."""
    rows = [{"n_prompt": 512, "n_gen": 0, "avg_ts": 100.0}, {"n_prompt": 0, "n_gen": 128, "avg_ts": 20.0}]
    peer = tmp_path / "llama-bench"
    peer.write_text(f"#!/bin/sh\necho peer $@ >> {tmp_path}/log\necho '{json.dumps(rows)}'\n")
    peer.chmod(0o755)
    return Setting(tmp_path, 512, 128, 2, "int8")


def test_turns_alternate(setting: Setting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = [{"test": "pp512", "mean": 50.0}, {"test": "tg128", "mean": 30.0}]
    stand_in = tmp_path / "python"
    stand_in.write_text(f"#!/bin/sh\necho lane $@ >> {tmp_path}/log\necho '{json.dumps(ours)}'\n")
    stand_in.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stand_in))
    found = list(turns(Path("model.gguf"), setting, 3))
    assert [(t.test, t.round, t.ratio) for t in found] == [
        (test, n, r) for n in (1, 2, 3) for test, r in (("pp512", 0.5), ("tg128", 1.5))
    ]
    log = (tmp_path / "log").read_text().splitlines()
    assert [line.split()[0] for line in log] == ["lane", "peer"] * 3
    assert "-p 512 -n 128 -r 1 --numerics int8 -o json --threads 2" in log[0]
    assert "-m model.gguf -p 512 -n 128 -r 1 -t 2 -o json" in log[1]


def test_summary_is_the_median_of_ratios() -> None:
    """Not the ratio of medians: here that would be 1."""
    measured = [Turn("f", "tg", n, lane, peer) for n, (lane, peer) in enumerate([(1, 2), (2, 3), (3, 1)], 1)]
    (line,) = summary(measured)
    assert "lane 2.00, peer 2.00 tok/s, median ratio 0.667 (0.500 to 3.000)" in line


def test_a_program_that_fails_is_told(setting: Setting) -> None:
    (setting.peer / "llama-bench").write_text("#!/bin/sh\necho no such model >&2\nexit 3\n")
    with pytest.raises(SystemExit, match="exited with 3: no such model"):
        side_by_side.peer_rates(Path("model.gguf"), setting)
