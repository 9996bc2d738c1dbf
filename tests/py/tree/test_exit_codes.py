"""What the documentation promises of exit codes is the table of lane.errors, and so is what C and C++ are given."""

import inspect
import re

import pytest

from lane import errors
from lane.errors import KINDS, ExitCode, LaneError, header_text
from tests.py.tree.tree import ROOT

CLASSES = {kind.exit_code: kind.__name__ for kind in KINDS}


def documented() -> list[tuple[int, str, str]]:
    """Code, class and meaning of each row of docs/cli.md's table."""
    table = (ROOT / "docs" / "cli.md").read_text().partition("## Exit codes")[2]
    return [(int(code), name, meaning) for code, name, meaning in re.findall(r"\| (\d+) \| (.*)\| (.*) \|", table)]


def test_documentation() -> None:
    names = {code: f"`{name}` " for code, name in CLASSES.items()} | {ExitCode.FAULT: "`LaneError` or none "}
    assert documented() == [(code, names.get(code, ""), code.meaning) for code in ExitCode]


def test_readme() -> None:
    (promise,) = re.findall(r"exit codes tell them apart: (.*?)\.\n", (ROOT / "README.md").read_text(), re.DOTALL)
    said = [int(code) for code in re.findall(r"\b\d\b", promise)]
    assert said == [kind.exit_code for kind in KINDS if kind is not LaneError]


def test_every_error_has_a_kind() -> None:
    declared = {value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, LaneError)}
    assert declared == set(KINDS)
    assert len(CLASSES) == len(KINDS)


@pytest.mark.parametrize("code", ExitCode)
def test_header(code: ExitCode) -> None:
    assert f"  LANE_{code.name} = {code.value},  // {code.meaning}\n" in header_text()
    kind = f'X({code.name.capitalize()}, {code.value}, "{CLASSES.get(code)}")'
    assert (kind in header_text()) == (code in CLASSES)
