"""The group: help, version, and that asking for them imports nothing that takes long."""

from __future__ import annotations

import importlib
import subprocess
import sys

import click
import pytest

import lane
from lane.cli.group import COMMANDS
from tests.py.cli.conftest import Lane, environment

HEAVY = ("numpy", "rich", "jinja2", "tokenizers", "gguf", "lane.api", "lane._core")


def test_version(lane: Lane) -> None:
    outcome = lane("--version")
    assert (outcome.code, outcome.out) == (0, f"lane {importlib.import_module('lane').__version__}\n")


def test_help_lists_every_command(lane: Lane) -> None:
    outcome = lane("--help")
    assert outcome.code == 0
    for name, text in COMMANDS.items():
        assert name in outcome.out and text in outcome.out


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_its_own_help(lane: Lane, name: str) -> None:
    outcome = lane(name, "-h")
    assert outcome.code == 0
    assert f"lane {name} [OPTIONS] MODEL" in outcome.out
    command = importlib.import_module(f"lane.cli.{name}").command
    assert isinstance(command, click.Command) and command.name == name
    for option in command.params:
        assert not isinstance(option, click.Option) or option.help, option.name


def test_without_a_command_there_is_help(lane: Lane) -> None:
    outcome = lane()
    assert outcome.code == 2
    assert "Commands:" in outcome.err


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["nonsense"]])
def test_nothing_heavy_is_imported(arguments: list[str]) -> None:
    program = (
        f"import sys; from lane.cli import main; main({arguments!r}); print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment()
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_package_itself_is_light() -> None:
    program = f"import sys, lane; print([m for m in {HEAVY!r} if m in sys.modules], lane.__version__)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment()
    )
    assert done.stdout == f"[] {lane.__version__}\n"


def test_ctrl_c_while_importing() -> None:
    """The command line is imported by the program, not with it, so that it ends as later."""
    program = (
        "import builtins, sys\n"
        "from lane.__main__ import main\n"
        "real = builtins.__import__\n"
        "def interrupted(name, *rest):\n"
        "    if name == 'lane.cli':\n"
        "        raise KeyboardInterrupt\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = interrupted\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=environment())
    assert (done.returncode, done.stderr) == (130, b"")
