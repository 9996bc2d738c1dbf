"""The tree's C++ is formatted as .clang-format says."""

import subprocess

from clang_format import get_executable

from tests.py.tree.tree import ROOT, files


def test_format() -> None:
    sources = [str(file) for folder in ("cpp", "tests", "bench") for file in files(folder, ".cc", ".h")]
    assert sources
    done = subprocess.run(
        [get_executable("clang-format"), "--dry-run", "--Werror", *sources],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
