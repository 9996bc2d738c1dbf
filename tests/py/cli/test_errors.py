"""Exit codes and errors: one line that names the thing, no traceback, the code of the error's class."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from lane.cli import main
from lane.cli.group import LaneGroup
from lane.errors import CapacityError, CheckpointError, LaneError, UnsupportedError, UsageError
from tests.py.cli.checkpoints import CONTEXT, NEEDED_FOR_TEXT, REFUSED, VOCAB, changed
from tests.py.cli.conftest import Lane, environment

RUN = ("--tokens", "5,6,7", "-n", "1")
# Beyond the model's own context, which is warned of.
LONG = ("--tokens", "5", "--ctx", "32768", "-n", "32000")  # still going when a test has seen its first text


def test_codes_are_those_documented() -> None:
    codes = {
        error: error.exit_code for error in (LaneError, UsageError, CheckpointError, UnsupportedError, CapacityError)
    }
    assert list(codes.values()) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("command", "name"),
    [("run", name) for name in REFUSED]
    + [(command, name) for command in ("bench", "plan") for name in REFUSED if name not in NEEDED_FOR_TEXT],
)
def test_refused_checkpoints(lane: Lane, folder: Path, name: str, command: str) -> None:
    change, code, said = REFUSED[name]
    path = changed(folder, name, change)
    outcome = lane(command, path, *(RUN if command == "run" else ()))
    assert outcome.code == code
    assert outcome.out == ""
    assert all(text in outcome.error() for text in said)


@pytest.mark.parametrize("name", ["truncated", "unknown_architecture"])
def test_refused_checkpoints_in_a_process(process: Lane, folder: Path, name: str) -> None:
    change, code, said = REFUSED[name]
    outcome = process("run", changed(folder, name, change), *RUN)
    assert outcome.code == code
    assert all(text in outcome.error() for text in said)


@pytest.mark.parametrize("command", ["run", "inspect", "plan", "bench"])
def test_a_path_that_is_no_file(lane: Lane, tmp_path: Path, command: str) -> None:
    for path in (tmp_path / "none.gguf", tmp_path):
        outcome = lane(command, path, *(RUN if command == "run" else ()))
        assert outcome.code == UsageError.exit_code
        assert str(path) in outcome.error()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--tokens", ",".join(["5"] * (CONTEXT + 1))),
        ("--tokens", ",".join(["5"] * CONTEXT), "-n", "2"),
        ("--ctx", "8", "--tokens", ",".join(["5"] * 9)),
        ("--ctx", "8", "-p", "a text of more than eight tokens"),
        ("--ctx", "8", "--tokens", "5", "-n", "9"),
    ],
)
def test_what_does_not_fit_the_context(lane: Lane, model: Path, arguments: tuple[str, ...]) -> None:
    outcome = lane("run", model, *arguments)
    assert outcome.code == CapacityError.exit_code
    assert "(the context)" in outcome.error()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--tokens", ""), 2, "0 tokens"),
        (("--tokens", "5,x"), 2, "'x'"),
        (("--tokens", "5,1.5"), 2, "'1.5'"),
        (("--tokens", f"{VOCAB}"), 2, f"token id is {VOCAB}"),
        (("--tokens=-1",), 2, "'-1'"),
        (("--tokens", "1_0"), 2, "'1_0'"),
        (("-p", "a", "--tokens", "5"), 2, "more than one"),
        (("-p", "a", "--chat", "b"), 2, "more than one"),
        (("--chat", ""), 2, "--chat '', allowed a text"),
        (("--chat", "--tokens", "5"), 2, "more than one"),
        (("-p", "a", "--temp", "-1"), 2, "Invalid value for '--temp': -1"),
        (("-p", "a", "--temp", "nan"), 2, "Invalid value for '--temp': nan"),
        (("-p", "a", "--top-k", "0"), 2, "Invalid value for '--top-k': 0"),
        (("-p", "a", "--top-p", "0"), 2, "Invalid value for '--top-p': 0"),
        (("-p", "a", "--min-p", "2"), 2, "Invalid value for '--min-p': 2"),
        (("-p", "a", "--seed", "-1"), 2, "Invalid value for '--seed': -1"),
        (("-p", "a", "--stop", ""), 2, "stop is ''"),
        (("-p", "a", "--ctx", "99999999"), 5, "a context of 99999999 positions"),
        (("--chat", "hello"), 4, "chat template"),
    ],
)
def test_refused_requests(lane: Lane, model: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    outcome = lane("run", model, *arguments)
    assert outcome.code == code
    assert said in outcome.error()


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("run",),
        ("run", "x.gguf", "-n", "0"),
        ("run", "x.gguf", "-n", "many"),
        ("run", "x.gguf", "--numerics", "int4"),
        ("run", "x.gguf", "--device", "abacus"),
        ("run", "x.gguf", "--threads", "0"),
        ("run", "x.gguf", "--ctx", "0"),
        ("run", "x.gguf", "--no-such-flag"),
        ("run", "x.gguf", "y.gguf"),
        ("run", "--chat", "x.gguf"),
        ("run", "x.gguf", "--no\x1b[31m\nflag"),
        ("plan", "x.gguf", "--rows", "513"),
        ("plan", "x.gguf", "--rows", "0"),
        ("bench", "x.gguf", "-r", "0"),
        ("bench", "x.gguf", "-o", "xml"),
    ],
)
def test_bad_flags(lane: Lane, arguments: tuple[str, ...]) -> None:
    outcome = lane(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.error().endswith("--help")


def broken() -> click.Command:
    """A command with a fault in it."""

    @click.command()
    def command() -> None:
        raise ZeroDivisionError("a fault\nof two lines")

    return command


def test_a_fault_is_one_line(lane: Lane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LaneGroup, "get_command", lambda *_: broken())
    monkeypatch.delenv("LANE_DEBUG", raising=False)
    outcome = lane("run")
    assert outcome.code == 1
    assert "ZeroDivisionError" in outcome.error() and "LANE_DEBUG=1" in outcome.error()


def test_a_fault_is_traced_on_request(lane: Lane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LaneGroup, "get_command", lambda *_: broken())
    monkeypatch.setenv("LANE_DEBUG", "1")
    outcome = lane("run")
    assert outcome.code == 1
    assert "Traceback" in outcome.err


@pytest.mark.parametrize(
    ("raised", "code"),
    [(KeyboardInterrupt(), 130), (BrokenPipeError(), 141), (OSError(), 74), (MemoryError(), 5), (UsageError("x"), 2)],
)
def test_codes_of_what_a_command_raises(monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int) -> None:
    @click.command()
    def command() -> None:
        raise raised

    monkeypatch.setattr(LaneGroup, "get_command", lambda *_: command)
    monkeypatch.setattr("lane.cli._discard", lambda stream: None)
    assert main(["run"]) == code


def test_a_reader_that_goes_away(model: Path) -> None:
    """As `lane run … | head -c 1`."""
    arguments = [sys.executable, "-m", "lane", "run", str(model), *LONG]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as child:
        assert child.stdout is not None and child.stderr is not None
        child.stdout.read(1)
        child.stdout.close()
        said = child.stderr.read()
    assert child.returncode == 141
    assert said.startswith(b"lane: warning: context: ") and said.count(b"\n") == 1


def test_ctrl_c_sums_up(model: Path) -> None:
    arguments = [sys.executable, "-m", "lane", "run", str(model), *LONG]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as child:
        assert child.stdout is not None and child.stderr is not None
        child.stdout.read(1)
        child.send_signal(signal.SIGINT)
        rest = child.stdout.read()
        said = child.stderr.read().decode()
    assert child.returncode == 130
    assert rest.endswith(b"\n")
    warning, summary = said.splitlines()
    assert warning.startswith("lane: warning: context: ") and summary.startswith("lane: load ")


REFUSED_BEFORE_LOADING = [
    ("--tokens", "x"),
    ("--tokens=-1",),
    ("--tokens", ""),
    ("--stop", ""),
    ("--temp", "nan"),
    ("--top-k", "0"),
    ("--top-p", "2"),
    ("--min-p", "-1"),
    ("--seed", "-1"),
    ("-p", "ab\udcff"),
]


@pytest.mark.parametrize("arguments", REFUSED_BEFORE_LOADING)
def test_what_is_refused_before_loading(
    lane: Lane, model: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr("lane.cli.run.load", lambda *_, **__: pytest.fail("it loads"))
    words = arguments if arguments[0].startswith(("--tokens", "-p")) else ("-p", "a", *arguments)
    outcome = lane("run", model, *words)
    assert outcome.code == 2
    assert outcome.error()


def test_a_model_taken_as_the_text_of_chat(lane: Lane) -> None:
    assert "--chat took 'x.gguf' as its text" in lane("run", "--chat", "x.gguf").error()


# What a shell does with the standard streams, and what then happens: the code, and whether stderr has an error.
STREAMS = [
    ("plan {model} >/dev/full", 74, True),
    ("--help >/dev/full", 74, True),
    ("plan {model} >&-", 74, True),
    ("run {model} --tokens 5,6 -n 3 >/dev/full", 74, True),
    ("run {model} --tokens 5,6 -n 3 >&-", 74, True),
    ("run {model} --tokens 5,6 -n 3 2>/dev/full", 74, False),
    ("run {model} --tokens 5,6 -n 3 2>&-", 0, False),
    ("run {model} <&-", 2, True),
    ("plan none.gguf 2>/dev/full", 2, False),
    ("plan none.gguf 2>&-", 2, False),
]


@pytest.mark.parametrize(("line", "code", "says"), STREAMS)
def test_streams_that_are_full_or_closed(model: Path, line: str, code: int, says: bool) -> None:
    command = f"{shlex.quote(sys.executable)} -m lane {line.format(model=shlex.quote(str(model)))}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=environment(), timeout=600)
    assert done.returncode == code
    assert done.stderr.startswith("lane: error: ") == says
    assert done.stderr.count("\n") == says
