"""Time to the first token: `python bench/first_token.py FILE --bar SECONDS`.

In: a checkpoint and a prompt. Out: the seconds from the start of `lane run` to its first text, those that the prefill
itself took, and what remains: the interpreter, the imports, loading, compiling. Exits with 1 when the median of what
remains is above the bar.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

PROMPT = "Once upon a time there was a little robot who lived in a house by the sea, and every morning"
_PREFILL = re.compile(r"prefill (\d+) tokens, ([\d.]+) tok/s")


@dataclass(frozen=True, slots=True)
class FirstToken:
    """Seconds of one run."""

    total: float
    prefill: float

    @property
    def rest(self) -> float:
        """All that is not the prefill."""
        return self.total - self.prefill


def first_token(file: Path, prompt: str) -> FirstToken:
    """One run."""
    command = [sys.executable, "-m", "lane", "run", str(file), "-p", prompt, "-n", "8"]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as child:
        assert child.stdout is not None and child.stderr is not None
        child.stdout.read(1)
        total = time.perf_counter() - started
        child.stdout.read()
        told = child.stderr.read().decode()
    match = _PREFILL.search(told)
    if child.returncode or match is None:
        sys.exit(f"first_token: lane run exited with {child.returncode}: {told.strip()}")
    return FirstToken(total, int(match[1]) / float(match[2]))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Time to the first token, beside the prefill's own.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--prompt", default=PROMPT)
    parser.add_argument("--bar", type=float, default=1.0, metavar="SECONDS")
    parser.add_argument("--runs", type=int, default=5)
    a = parser.parse_args()
    runs = [first_token(a.file, a.prompt) for _ in range(a.runs + 1)][1:]  # the first fills the page cache
    for run in runs:
        print(f"first token after {run.total:.3f} s, prefill {run.prefill:.3f} s, the rest {run.rest:.3f} s")
    median = statistics.median(run.rest for run in runs)
    print(f"median rest {median:.3f} s, bar {a.bar:.3f} s: {'within' if median <= a.bar else 'ABOVE'}")
    return 0 if median <= a.bar else 1


if __name__ == "__main__":
    sys.exit(main())
