"""The tree's C++ is formatted as .clang-format says."""

import subprocess

from clang_format import get_executable

from tests.py.tree.tree import ROOT, files


def test_format() -> None:
    folders = ("cpp", "tests", "bench", "examples")
    sources = [str(file) for folder in folders for file in files(folder, ".c", ".cc", ".h")]
    assert sources
    done = subprocess.run(
        [get_executable("clang-format"), "--dry-run", "--Werror", *sources],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
