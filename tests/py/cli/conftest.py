"""What the tests of the command line share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from lane.cli import main
from tests.py.cli import checkpoints


@dataclass(frozen=True)
class Outcome:
    """What a command line left behind."""

    code: int
    out: str
    err: str

    def error(self) -> str:
        """The one line that an error is."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("lane: error: "), self.err
        assert "Traceback" not in self.err
        return lines[0]


Lane = Callable[..., Outcome]


@pytest.fixture
def lane(capsys: pytest.CaptureFixture[str]) -> Lane:
    """Runs a command line in this process."""

    def run(*arguments: object) -> Outcome:
        code = main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture
def process() -> Lane:
    """Runs a command line in a process of its own; `stdin` and `env` as keywords."""

    def run(*arguments: object, stdin: bytes = b"", env: dict[str, str] | None = None) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "lane", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            env=environment(env),
            timeout=120,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


def environment(more: dict[str, str] | None = None) -> dict[str, str]:
    """This process's, in which a child imports what this one can."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **(more or {})}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where checkpoints are made."""
    return tmp_path_factory.mktemp("checkpoints")


@pytest.fixture(scope="session")
def model(folder: Path) -> Path:
    """A checkpoint that runs."""
    return checkpoints.good(folder)
