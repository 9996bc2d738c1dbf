"""The wheel: built in isolation from an sdist, installed in a clean environment, imported, used.

Nothing is fetched: pip takes everything from a folder of wheels, of the versions that third_party's locks name.
"""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.py.tree.tree import ROOT, files

WHEELS = Path(os.environ["LANE_WHEELS"]).parent


def run(*command: str | Path) -> str:
    environment = {
        "HOME": os.environ["HOME"],
        "PATH": os.environ["PATH"],
        "PIP_FIND_LINKS": str(WHEELS.absolute()),
        "PIP_NO_INDEX": "1",
        "TMPDIR": os.environ["TEST_TMPDIR"],
    }
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        pytest.fail(done.stdout, pytrace=False)
    return done.stdout


def environment(folder: Path, *packages: str | Path) -> Path:
    """The Python of a new environment with the packages in it."""
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    run(base, "-m", "venv", folder)
    run(folder / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check", *packages)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """CMake's build folder and, in `dist`, the wheel; the C interface and its example are built as well."""
    folder = tmp_path_factory.mktemp("wheel")
    builder = environment(folder / "builder", "build")
    settings = (f"build-dir={folder / 'build'}", "cmake.define.LANE_EMBED=ON")
    run(builder, "-m", "build", "--outdir", folder / "dist", *(f"-C{setting}" for setting in settings), ROOT)
    return folder


@pytest.fixture(scope="module")
def wheel(build: Path) -> Path:
    (built,) = (build / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("installed"), wheel)


def test_contents(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"lane/__init__.py", "lane/py.typed", "lane/_core.pyi"} <= names
    assert all(name.startswith(("lane/", "lane-")) for name in names)
    assert not [name for name in names if "BUILD" in name]
    runtime = {f"lane/_sources/{file}" for file in files("cpp/runtime", ".cc", ".h")}
    assert {name for name in names if name.startswith("lane/_sources/")} == runtime | {"lane/_sources/lane_errors.h"}


def test_the_runtime_in_it_is_one_translation_unit(python: Path, tmp_path: Path) -> None:
    sources = Path(run(python, "-c", "import lane; print(lane.__path__[0])").strip()) / "_sources"
    unit = tmp_path / "unit.cc"
    unit.write_bytes(b"".join(file.read_bytes() for file in sorted((sources / "cpp" / "runtime").glob("*.cc"))))
    for option in ("-O0", "-DLANE_NO_LOST_PAGES"):
        run("c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", option, f"-I{sources}", unit)


def test_command(wheel: Path, python: Path) -> None:
    assert run(python.with_name("lane"), "--version") == f"lane {wheel.name.split('-')[1]}\n"


def test_runs_a_tiny_model(python: Path) -> None:
    # The bar of exact arithmetic; tests/py/devices holds every checkpoint to it, and says where it comes from.
    program = """
import sys
import lane, numpy as np
reference = np.load(sys.argv[1] + "/reference.npz")
found = lane.load(sys.argv[1] + "/model.gguf", numerics="precise").logits([int(t) for t in reference["tokens"]])
assert np.linalg.norm(found - reference["logits"]) <= 1e-5 * np.linalg.norm(reference["logits"])
"""
    run(python, "-c", program, ROOT / "tests" / "data" / "families" / "llama")


def test_a_host_runs_a_tiny_model(build: Path, python: Path, tmp_path: Path) -> None:
    model, plan = ROOT / "tests" / "data" / "families" / "llama" / "model.gguf", tmp_path / "plan"
    run(python.with_name("lane"), "plan", model, "--save", plan)
    program = "import lane, sys; print(*(piece.id for piece in lane.load(sys.argv[1]).generate([1, 5, 9], 16)))"
    expected = run(python, "-c", program, model)
    assert run(build / "build" / "host", model, plan, "16", "1", "5", "9") == expected
