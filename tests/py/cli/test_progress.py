"""The bar: after its delay, on a terminal, and gone when the work is done. The terminal is a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.py.cli.conftest import environment

PROGRAM = """
import sys, time
from lane.cli.progress import progress
with progress("prefill", delay_seconds={delay}) as report:
    report(1, 4)
    time.sleep({work})
    report(4, 4)
    sys.stdout.write("the text")
    sys.stdout.flush()
    time.sleep({after})
"""


def shown(delay: float, work: float, after: float = 0.0) -> tuple[str, str]:
    """What stdout and the terminal at stderr get."""
    ours, theirs = pty.openpty()
    program = PROGRAM.format(delay=delay, work=work, after=after)
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment({"TERM": "xterm", "COLUMNS": "80"}),
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            chunk = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        said += chunk
    out, _ = child.communicate()
    os.close(ours)
    assert child.returncode == 0
    return out.decode(), said.decode()


def test_shows_after_its_delay() -> None:
    out, said = shown(delay=0.05, work=1.5)
    assert "prefill" in said
    assert out == "the text"


def test_quick_work_shows_nothing() -> None:
    assert shown(delay=60.0, work=0.0) == ("the text", "")


def test_does_not_come_after_the_work() -> None:
    """What follows in the block may take longer than the delay."""
    assert shown(delay=0.5, work=0.0, after=1.0) == ("the text", "")


def test_nothing_without_a_terminal() -> None:
    program = PROGRAM.format(delay=0.01, work=0.5, after=0.0) + "\nprint('rich' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment())
    assert (done.stdout, done.stderr) == ("the textFalse\n", "")


@pytest.mark.parametrize("failing", [True, False])
def test_the_bar_goes_with_its_block(failing: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also when the work fails: no thread of it is left."""
    import threading

    from lane.cli.progress import progress

    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    before = threading.active_count()
    try:
        with progress("work", delay_seconds=60.0):
            if failing:
                raise ValueError
    except ValueError:
        pass
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join(5)
    assert threading.active_count() == before
