"""On a terminal: no control characters of a model's making, and Ctrl-C where it may come."""

from __future__ import annotations

import io
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.make_checkpoint import SIZES, make
from lane.cli.writer import Writer
from tests.py.cli.conftest import environment

HOSTILE = "\x1b]0;title\x07\x1b[2Ja\tb\n\rc\x08\x7f\x9b31m\u200dé"


class Stream(io.StringIO):
    """Text that is written to a terminal, or not."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.mark.parametrize("is_terminal", [True, False])
def test_control_characters(monkeypatch: pytest.MonkeyPatch, is_terminal: bool) -> None:
    stream = Stream(is_terminal)
    monkeypatch.setattr(sys, "stdout", stream)
    with Writer() as writer:
        for character in HOSTILE:
            writer.write(character)
    shown = r"\x1b]0;title\x07\x1b[2Ja" + "\tb\n" + r"\rc\x08\x7f\x9b31m" + "\u200dé"
    assert stream.getvalue() == (shown if is_terminal else HOSTILE) + "\n"


@pytest.fixture(scope="module")
def chatty(folder: Path) -> Path:
    path = folder / "chatty_terminal.gguf"
    make(path, "llama", SIZES["tiny"], ("Q8_0", "Q8_0"), template="{% for m in messages %}{{ m.content }}{% endfor %}")
    return path


def test_ctrl_c_ends_an_answer_and_not_the_conversation(chatty: Path) -> None:
    ours, theirs = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "lane",
        "run",
        str(chatty),
        "--chat",
        "--temp",
        "0",
        "--ctx",
        "32768",
        "-n",
        "30000",
    ]
    child = subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    os.close(theirs)
    assert child.stdout is not None
    os.write(ours, b"one\n")
    child.stdout.read(1)
    child.send_signal(signal.SIGINT)
    os.write(ours, b"two\n")
    while child.stdout.read(1) != b"\n":  # what ends the first answer
        pass
    child.stdout.read(1)
    child.send_signal(signal.SIGINT)
    os.write(ours, b"\x04")
    _, said = child.communicate(timeout=600)
    os.close(ours)
    assert child.returncode == 0
    assert said.count(b"lane: interrupted\n") == 2 and b"Traceback" not in said
    assert b"\n> \nlane: load " in said


def test_ctrl_c_at_the_prompt_ends_the_conversation(chatty: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "lane", "run", str(chatty), "--chat"]
    child = subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    os.close(theirs)
    assert child.stderr is not None
    while child.stderr.read(1) != b">":
        pass
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=600)
    os.close(ours)
    assert child.returncode == 130
    assert said.lstrip().startswith(b"lane: load ")


# Interrupts itself when a module is first asked for, as a user's Ctrl-C may come at any of them.
INTERRUPTED = """
import os, sys
class Finder:
    wanted = sys.argv.pop(1)
    def find_spec(self, name, path=None, target=None):
        if name == self.wanted:
            os.kill(os.getpid(), 2)
sys.meta_path.insert(0, Finder())
from lane.__main__ import main
sys.exit(main())
"""
MODULES = [
    *("signal", "enum", "lane.cli", "click", "lane.cli.run"),
    *("numpy", "lane._core", "lane.api", "lane.checkpoint.tokenizer.bpe"),
]


def test_nothing_is_imported_before_ctrl_c_has_an_answer() -> None:
    code = "import sys; known = set(sys.modules); import lane.__main__; print(*sorted(set(sys.modules) - known))"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, env=environment())
    assert done.stdout.split() == ["lane", "lane.__main__"]


@pytest.mark.parametrize("module", MODULES)
def test_ctrl_c_while_it_starts(chatty: Path, module: str) -> None:
    words = [sys.executable, "-S", "-c", INTERRUPTED, module, "run", str(chatty), "-p", "abc", "-n", "3"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=600)
    assert done.returncode in (130, -signal.SIGINT)
    assert done.stderr == ""
