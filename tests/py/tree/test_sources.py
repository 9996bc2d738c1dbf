"""Bazel and CMake build the same sources, with the same flags, and nothing in the tree escapes Bazel."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import cmake
import ninja
import pytest

from tests.py.tree.tree import ROOT, files


def bazel_sources(target: str) -> set[str]:
    """The source files that Bazel makes a target from, as paths from the root."""
    return set(Path(os.environ[target]).read_text().split())


def run_cmake(*arguments: str) -> None:
    path = os.pathsep.join([ninja.BIN_DIR, os.environ["PATH"]])
    # The build runs modules of the package from where it is; a test's own Python may not look there.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(
        [os.path.join(cmake.CMAKE_BIN_DIR, "cmake"), *arguments],
        env=environment | {"PATH": path, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build folder, configured for all that CMake can make."""
    folder = tmp_path_factory.mktemp("build")
    options = (f"-DPython_EXECUTABLE={sys.executable}", "-DLANE_EMBED=ON", "-DLANE_WERROR=ON")
    run_cmake("-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *options)
    return folder


@pytest.fixture(scope="module")
def commands(build: Path) -> dict[str, list[str]]:
    """CMake's compile command of each source of the tree."""
    entries = json.loads((build / "compile_commands.json").read_text())
    within = [entry for entry in entries if Path(entry["file"]).is_relative_to(ROOT / "cpp")]
    return {str(Path(entry["file"]).relative_to(ROOT)): entry["command"].split() for entry in within}


@cache
def isa_flags() -> dict[str, list[str]]:
    flags: dict[str, list[str]] = json.loads(os.environ["LANE_ISA_COPTS"])
    return flags


def isa(source: str) -> str | None:
    return next((name for name in isa_flags() if source.endswith(f"_{name}.cc")), None)


def test_both_builds_are_of_the_same_sources(commands: dict[str, list[str]]) -> None:
    assert set(commands) == bazel_sources("LANE_EXTENSION_SOURCES") | bazel_sources("LANE_EMBED_SOURCES")


def test_every_source_is_of_the_extension_or_the_c_interface() -> None:
    extension, embed = (bazel_sources(f"LANE_{part}_SOURCES") for part in ("EXTENSION", "EMBED"))
    assert {str(file) for file in files("cpp", ".cc")} == extension | embed
    assert {source for source in embed - extension if not source.startswith("cpp/embed/")} == set()


def test_the_runtime_is_one_translation_unit(build: Path) -> None:
    for target in ("lane_runtime_unit", "lane_runtime_unit_unguarded"):
        run_cmake("--build", str(build), "--target", target)


def test_flags_are_those_of_the_name(commands: dict[str, list[str]]) -> None:
    for source, command in commands.items():
        found = {word for word in command if word.startswith("-m")}
        name = isa(source)
        assert found == set(isa_flags()[name] if name else []), source


def test_kernels_contract_nothing(commands: dict[str, list[str]]) -> None:
    kernels = [command for source, command in commands.items() if source.startswith("cpp/cpu/")]
    for command in kernels:
        assert "-ffp-contract=off" in command
        assert [word for word in command if word.startswith("-O")][-1] == "-O3"


def test_package_is_every_module() -> None:
    assert {str(file) for file in files("python", ".py")} == bazel_sources("LANE_PACKAGE_SOURCES")


@pytest.mark.parametrize(
    ("folder", "prefix", "suffix", "macro"),
    [("tests/py", "test_", ".py", "pytest_test"), ("tests/cc", "", "_test.cc", "lane_cc_tests")],
)
def test_folder_of_tests_is_a_package(folder: str, prefix: str, suffix: str, macro: str) -> None:
    tests = [file for file in files(folder, suffix) if file.name.startswith(prefix)]
    assert tests
    for parent in {file.parent for file in tests}:
        assert macro in (ROOT / parent / "BUILD.bazel").read_text(), parent
