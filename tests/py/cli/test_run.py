"""`lane run`: what goes to stdout and what to stderr, from every kind of prompt."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.make_checkpoint import SIZES, make
from lane import load
from tests.py.cli.conftest import Lane, environment

SUMMARY = re.compile(
    r"lane: load [\d.]+ s; prefill (\d+) tokens, [\d.]+ tok/s; (?:decode (\d+) tokens, [\d.]+ tok/s; )?"
    r"(?:cut off after \d+ tokens by (?:-n|the context); )?memory [\d.]+ .?B beside the file's [\d.]+ .?B\n"
)
TEMPLATE = "{% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}[assistant]"


def generated(model: Path, prompt: str | list[int], n: int, **options: object) -> str:
    """What the Python interface generates."""
    return "".join(piece.text for piece in load(model).generate(prompt, n, **options))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def chatty(folder: Path) -> Path:
    """A model with a chat template."""
    path = folder / "chatty.gguf"
    make(path, "llama", SIZES["tiny"], ("Q8_0", "Q8_0"), template=TEMPLATE)
    return path


def test_stdout_has_the_text_alone(process: Lane, model: Path) -> None:
    outcome = process("run", model, "-p", "abc", "-n", "20")
    assert outcome.code == 0
    assert outcome.out == generated(model, "abc", 20) + "\n"
    said = SUMMARY.fullmatch(outcome.err)
    assert said is not None, outcome.err
    assert (int(said[1]), int(said[2])) == (len(load(model).tokenizer.encode("abc")), 19)


def test_one_token_has_no_decode_rate(process: Lane, model: Path) -> None:
    said = SUMMARY.fullmatch(process("run", model, "-p", "abc", "-n", "1").err)
    assert said is not None and said[2] is None


def test_prompt_from_stdin(process: Lane, model: Path) -> None:
    text = "a text\nof two lines €"
    assert process("run", model, "-n", "5", stdin=text.encode()).out == generated(model, text, 5) + "\n"


def test_stdin_that_is_not_utf8(process: Lane, model: Path) -> None:
    outcome = process("run", model, stdin=b"ab\xff")
    assert outcome.code == 2
    assert "byte 2 is 0xff, allowed UTF-8" in outcome.error()


@pytest.mark.parametrize("option", ["-p", "--chat"])
def test_an_argument_that_is_not_utf8(process: Lane, model: Path, option: str) -> None:
    outcome = process("run", model, option, "€b\udcff")
    assert outcome.code == 2
    assert "byte 4 is 0xff, allowed UTF-8" in outcome.error()


def test_a_prompt_that_cannot_fit_is_not_read(process: Lane, model: Path) -> None:
    outcome = process("run", model, stdin=b"a" * 10**6)
    assert outcome.code == 5
    assert "a text of 1000000 bytes, allowed" in outcome.error()


def test_empty_stdin_without_bos(process: Lane, model: Path) -> None:
    outcome = process("run", model)
    assert outcome.code == 2
    assert "0 tokens" in outcome.error()


@pytest.mark.parametrize("ids", ["5,6,7", "5 6 7", " 5, 6,7 "])
def test_prompt_of_ids(process: Lane, model: Path, ids: str) -> None:
    assert process("run", model, "--tokens", ids, "-n", "5").out == generated(model, [5, 6, 7], 5) + "\n"


def test_count_shrinks_to_the_context(process: Lane, model: Path) -> None:
    said = SUMMARY.fullmatch(process("run", model, "--tokens", "5,6", "--ctx", "9").err)
    assert said is not None and said[2] is not None
    assert int(said[2]) <= 7  # 8 tokens after 2 fill 9 positions; fewer if the model ends


def test_sampling_is_the_interface_s(process: Lane, model: Path) -> None:
    flags = ("--temp", "0.8", "--top-k", "50", "--top-p", "0.9", "--min-p", "0.01", "--seed", "11")
    outcome = process("run", model, "-p", "abc", "-n", "20", *flags)
    wanted = generated(model, "abc", 20, temperature=0.8, top_k=50, top_p=0.9, min_p=0.01, seed=11)
    assert outcome.out == wanted + "\n"


def test_stop_strings(process: Lane, model: Path) -> None:
    text = generated(model, "abc", 40)
    stop = next(text[at : at + 2] for at in range(3, 40) if text[at : at + 2].isprintable())
    outcome = process("run", model, "-p", "abc", "-n", "40", "--stop", stop, "--stop", "not there")
    assert outcome.out == text[: text.index(stop)] + "\n"


@pytest.mark.parametrize("numerics", ["precise", "int8", "int8x2"])
def test_numerics_and_threads(process: Lane, model: Path, numerics: str) -> None:
    pieces = load(model, numerics=numerics, threads=1).generate("abc", 8)
    outcome = process("run", model, "-p", "abc", "-n", "8", "--numerics", numerics, "--threads", "1")
    assert outcome.out == "".join(piece.text for piece in pieces) + "\n"


def test_text_that_stdout_cannot_show(process: Lane, model: Path) -> None:
    outcome = process("run", model, "-p", "abc", "-n", "20", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert outcome.code == 0
    assert outcome.out == generated(model, "abc", 20).encode("ascii", "replace").decode() + "\n"


@pytest.mark.parametrize("arguments", [("--chat", "hello"), ("--chat", "-p", "hello")])
def test_one_turn(process: Lane, chatty: Path, arguments: tuple[str, ...]) -> None:
    outcome = process("run", chatty, "-n", "10", "--temp", "0", *arguments)
    assert outcome.out == generated(chatty, "[user]hello\n[assistant]", 10) + "\n"


def test_conversation(process: Lane, chatty: Path) -> None:
    """A line a turn; what was said before is part of the prompt; empty lines are no turns."""
    outcome = process("run", chatty, "--chat", "-n", "6", "--temp", "0", stdin=b"one\n\ntwo")
    first = generated(chatty, "[user]one\n[assistant]", 6)
    second = generated(chatty, f"[user]one\n[assistant]{first}\n[user]two\n[assistant]", 6)
    assert outcome.code == 0
    assert outcome.out == f"{first}\n{second}\n"
    assert SUMMARY.fullmatch(outcome.err)


@pytest.mark.parametrize(
    ("turn", "code", "said"), [(b"x" * 600, 5, "(the context)"), (b"ab\xff", 2, "the turn: byte 2 is 0xff")]
)
def test_conversation_that_cannot_go_on(process: Lane, chatty: Path, turn: bytes, code: int, said: str) -> None:
    """What was said stays said; then come the summary and the error."""
    outcome = process("run", chatty, "--chat", "-n", "6", "--temp", "0", stdin=b"one\n" + turn + b"\nthree\n")
    assert outcome.code == code
    assert outcome.out == generated(chatty, "[user]one\n[assistant]", 6) + "\n"
    summary, error = outcome.err.splitlines(keepends=True)
    assert SUMMARY.fullmatch(summary)
    assert error.startswith("lane: error: ") and said in error


def test_conversation_without_turns(process: Lane, chatty: Path) -> None:
    outcome = process("run", chatty, "--chat")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.startswith("lane: load ")


def test_a_broken_template_stops_only_chat(process: Lane, folder: Path) -> None:
    path = folder / "broken_template.gguf"
    make(path, "llama", SIZES["tiny"], ("Q8_0", "Q8_0"), template="{% for %}")
    assert process("run", path, "-p", "abc", "-n", "2").code == 0
    outcome = process("run", path, "--chat", "hello")
    assert outcome.code == 4
    assert "chat template, line 1" in outcome.error()


def test_conversation_on_a_terminal(chatty: Path) -> None:
    """It asks for each turn; Ctrl-D ends it on a line of its own."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "lane", "run", str(chatty), "--chat", "--temp", "0", "-n", "3"]
    child = subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    os.close(theirs)
    os.write(ours, b"one\n\x04")
    out, said = child.communicate(timeout=600)
    os.close(ours)
    assert child.returncode == 0
    assert out.decode() == generated(chatty, "[user]one\n[assistant]", 3) + "\n"
    assert said.startswith(b"> lane: cut off after 3 tokens by -n\n> \nlane: load ")


def test_a_turn_that_does_not_fit_on_a_terminal(chatty: Path) -> None:
    """It is left out, and the conversation goes on."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "lane", "run", str(chatty), "--chat", "--temp", "0", "-n", "3", "--ctx", "64"]
    child = subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    os.close(theirs)
    os.write(ours, b"x" * 100 + b"\none\n\x04")
    out, said = child.communicate(timeout=600)
    os.close(ours)
    assert child.returncode == 0
    assert out.decode() == generated(chatty, "[user]one\n[assistant]", 3) + "\n"
    assert said.startswith(b"> lane: error: ")
    assert b"(the context); --ctx N holds more, up to 131072; this turn is left out\n> " in said


def test_a_terminal_without_a_prompt(model: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "lane", "run", str(model)]
    done = subprocess.run(command, stdin=theirs, capture_output=True, env=environment(), timeout=600)
    os.close(theirs)
    os.close(ours)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"run: no prompt" in done.stderr
