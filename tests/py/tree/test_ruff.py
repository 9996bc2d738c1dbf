"""The tree's Python is linted and formatted as pyproject.toml says."""

import subprocess
import sys

from tests.py.tree.tree import ROOT


def ruff(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *arguments, "--no-cache", "."], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_check() -> None:
    ruff("check", "--output-format=concise")


def test_format() -> None:
    ruff("format", "--check")
