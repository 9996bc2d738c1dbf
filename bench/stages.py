"""What compiling takes, pass by pass: time and memory for every form of a large model, and how both grow with layers.

Checkpoints are holes in files, written to a folder that is removed again. Time is CPU time of this process; the growth
is the slope of log time over log layers between the fewest and the most. Run as

    python bench/stages.py --layers 10,20,40,80,160
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from bench.make_checkpoint import Size, make
from lane.launch.record import Numerics
from lane.models.step import CHUNK_ROWS
from lane.pipeline import PASSES, Options, compile_plan, open_model
from lane.plan.plan import FormKey

LLAMA_70B = Size(layers=80, embd=8192, ff=28672, heads=64, kv_heads=8, vocab=128256, context=131072)
MIB = 1 << 20


class Clock:
    """Seconds of CPU time by pass."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def __call__(self, name: str) -> AbstractContextManager[None]:
        return self._timed(name)

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        started = time.process_time()
        yield
        self.seconds[name] += time.process_time() - started


def measure(folder: Path, size: Size) -> dict[str, float]:
    """Seconds by pass of compiling every form of a llama of this size, recognition included."""
    path = folder / f"{size.layers}.gguf"
    make(path, "llama", size, ("Q4_K", "Q6_K"), sparse=True)
    clock = Clock()
    with clock("recognise"):
        _, model = open_model(path, 4096)
    compile_plan(model, [FormKey(rows) for rows in (1, *CHUNK_ROWS)], Options(Numerics.INT8, watch=clock))
    return clock.seconds


def growth(seconds: dict[int, float]) -> float:
    """The exponent of time over layers, between the fewest and the most."""
    few, many = min(seconds), max(seconds)
    return math.log(seconds[many] / seconds[few]) / math.log(many / few) if many > few else math.nan


def main(argv: list[str]) -> int:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", default="10,20,40,80,160")
    counts = [int(count) for count in parser.parse_args(argv).layers.split(",")]
    totals: dict[int, float] = {}
    print("layers", *(name.rjust(9) for name in ("recognise", *PASSES)), "    total  peak MiB")
    for layers in counts:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(Path(folder), dataclasses.replace(LLAMA_70B, layers=layers))
        totals[layers] = sum(found.values())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MIB
        cells = " ".join(f"{found[name]:9.3f}" for name in ("recognise", *PASSES))
        print(f"{layers:6d} {cells} {totals[layers]:9.3f} {peak:9.0f}")
    print(f"exponent from {counts[0]} to {counts[-1]} layers: {growth(totals):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
