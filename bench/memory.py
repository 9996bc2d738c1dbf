"""Peak memory of `lane run`: `python bench/memory.py FILE`.

In: a checkpoint. Out: the most memory that one run held resident, against the bar: the mapped file, repacked copies of
its matrices, 1.3 times caches and arena, and 200 MB for everything else. Exits with 1 above the bar.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from lane import load

SHARE = 1.3  # of caches and arena
REST_BYTES = 200_000_000
PROMPT_TOKENS = 512  # the largest chunk: the largest arena
DECODED_TOKENS = 16


def peak_bytes(file: Path, context: int) -> int:
    """Of a run over a prompt of one whole chunk."""
    ids = ",".join("1" for _ in range(PROMPT_TOKENS))
    command = [sys.executable, "-m", "lane", "run", str(file), "--tokens", ids, "-n", str(DECODED_TOKENS)]
    child = subprocess.Popen([*command, "--ctx", str(context)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"memory: lane run exited with {child.returncode}")
    return usage.ru_maxrss * 1024


def held(file: Path, context: int) -> Mapping[str, int]:
    """Bytes by part, as the device tells them after the same run."""
    model = load(file, ctx=context)
    for _ in model.generate([1] * PROMPT_TOKENS, 1):
        pass
    return model.memory()


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Peak memory of a run against its bar.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--ctx", type=int, default=4096)
    a = parser.parse_args()
    parts = held(a.file, a.ctx)
    bar = parts["checkpoint"] + parts.get("repacked", 0) + SHARE * (parts["caches"] + parts["arena"]) + REST_BYTES
    peak = peak_bytes(a.file, a.ctx)
    print(", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in parts.items()))
    print(f"peak {peak / 1e6:.1f} MB, bar {bar / 1e6:.1f} MB: {'within' if peak <= bar else 'ABOVE'}")
    return 0 if peak <= bar else 1


if __name__ == "__main__":
    sys.exit(main())
