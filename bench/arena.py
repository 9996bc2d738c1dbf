"""lane's arenas beside llama.cpp's compute buffers: `python bench/arena.py FILE… [--peer DIR]`.

In: checkpoints, and the folder that has llama-bench (LANE_PEER names it too; without it lane's alone). Out: a table,
in MiB. `arena` is that of a chunk with the last row's logits, which is what a prefill runs, `bound` the least that any
arena of it could have. llama.cpp reserves for every row's logits and places them beside its other arrays; `all rows` is
lane's arena of that step with the logits, which are else the caller's, placed in it too. The columns to compare are the
last two. What llama.cpp does not count are the activations that its CPU kernels quantise: they lie in a work buffer of
their own. What lane does not do yet is to let a launch write over what it reads for the last time.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

from lane import _core
from lane.graph.graph import Head
from lane.launch.record import Numerics
from lane.launch.table import ALIGNMENT_BYTES
from lane.pipeline import Options, compile_plan, open_model
from lane.plan.arena import STRATEGIES
from lane.plan.plan import FormKey
from lane.plan.step import LoweredStep
from lane.schedule.schedule import Schedule

MIB = 1 << 20
HEADER = ("file", "rows", "arena", "bound", "all rows", "llama.cpp")


def lane_row(file: Path, rows: int, numerics: Numerics) -> list[float]:
    """Bytes: the arena, its bound, and the arena with all rows' logits in it."""
    _, model = open_model(file)
    last, every = FormKey(rows), FormKey(rows, Head.ALL)
    plan = compile_plan(model, [last, every], Options(numerics))
    arena = plan.form(last).arena
    return [arena.total_bytes, arena.lower_bound_bytes, bytes_with_logits(plan.form(every).schedule)]


def bytes_with_logits(schedule: Schedule) -> int:
    """The arena of a step on one stream with its logits an array like any other, live to the step's end."""
    lowered = LoweredStep(schedule)
    problem, _ = _core.step_arena(lowered.step, _core.one_stream(lowered.step), ALIGNMENT_BYTES)
    logits = schedule.io.logits
    written = next(n for n, item in enumerate(schedule.launches) if logits in (a.name for a in item.launch.accesses()))
    problem.add(logits, schedule.buffers[logits].elems * 4, [(written, len(schedule.launches))])
    return _core.plan_arena(problem, list(STRATEGIES)).total_bytes


def peer_bytes(file: Path, rows: int, peer: Path) -> float:
    """The compute buffer that llama-bench says it reserved for batches of so many rows."""
    sizes = ["-p", str(rows), "-n", "0", "-r", "1", "-b", str(rows), "-ub", str(rows)]
    command = [str(peer / "llama-bench"), "-m", str(file), *sizes, "-t", "1", "-v"]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.findall(r"compute buffer size =\s*([0-9.]+) MiB", done.stderr)
    if done.returncode or not found:
        sys.exit(f"arena: {command[0]} exited with {done.returncode} and printed no compute buffer")
    return float(found[-1]) * MIB


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="lane's arenas beside llama.cpp's compute buffers.")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--peer", type=Path, default=os.environ.get("LANE_PEER"), help="folder of llama-bench")
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--numerics", default="int8", choices=[n.value for n in Numerics])
    a = parser.parse_args()
    print(" | ".join(HEADER) + "   (MiB)")
    for file in a.files:
        sizes = lane_row(file, a.rows, Numerics(a.numerics))
        if a.peer is not None:
            sizes.append(peer_bytes(file, a.rows, Path(a.peer)))
        print(" | ".join([str(file), str(a.rows), *(f"{size / MIB:.2f}" for size in sizes)]), flush=True)


if __name__ == "__main__":
    main()
