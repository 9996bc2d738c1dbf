"""The measuring scripts end to end on a tiny checkpoint: what they print, and that a bar that is missed fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import first_token, memory
from bench.make_checkpoint import SIZES, make


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("checkpoint") / "tiny.gguf"
    make(path, "llama", SIZES["tiny"], ("Q8_0", "Q8_0"))
    return path


def run(script: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, str(script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)


def test_memory_is_within_its_bar(model: Path) -> None:
    done = run(Path(memory.__file__), model, "--ctx", 1024)
    assert done.returncode == 0, done.stderr
    parts, verdict = done.stdout.splitlines()
    assert "caches" in parts and "arena" in parts
    assert verdict.startswith("peak ") and verdict.endswith(": within")


@pytest.mark.parametrize(("bar", "code", "said"), [(1000, 0, "within"), (0, 1, "ABOVE")])
def test_first_token(model: Path, bar: int, code: int, said: str) -> None:
    done = run(Path(first_token.__file__), model, "--bar", bar, "--runs", 2)
    assert done.returncode == code, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3 and all("first token after" in line for line in lines[:2])
    assert lines[-1].endswith(said)


def test_make_checkpoint_from_the_command_line(tmp_path: Path) -> None:
    import bench.make_checkpoint

    out = tmp_path / "model.gguf"
    script = Path(bench.make_checkpoint.__file__)
    done = run(script, out, "--family", "qwen3", "--size", "tiny", "--layers", 1, "--format", "IQ4_XS", "--tied")
    assert done.returncode == 0, done.stderr
    assert out.stat().st_size > 0
