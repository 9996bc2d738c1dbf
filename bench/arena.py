"""lane's arenas beside llama.cpp's compute buffers: `python bench/arena.py FILE… [--peer DIR]`.

In: checkpoints, and the folder that has llama-bench (LANE_PEER names it too; without it lane's alone). Out: a table.
lane's columns are the arena of a chunk with the last row's logits, its lower bound, the same with every row's logits,
and those logits, which are the caller's. llama.cpp reserves for every row's logits and counts them in; what it does
not count are the activations its CPU kernels quantise, which lie in a work buffer of their own. So the columns to
compare are the two totals.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

from lane.graph.graph import Head
from lane.launch.record import Numerics
from lane.pipeline import Lane, open_model

MIB = 1 << 20
HEADER = ("file", "rows", "arena", "bound", "arena, all rows", "logits", "total", "llama.cpp")


def lane_row(file: Path, rows: int, numerics: Numerics) -> list[float]:
    """Bytes: arena, bound, arena with all rows' logits, those logits, their sum."""
    _, model = open_model(file)
    lane = Lane(model, numerics)
    last, every = lane.form(rows).arena, lane.form(rows, Head.ALL)
    logits = 4 * every.graph.tensors[every.schedule.io.logits].elems
    total = every.arena.total_bytes + logits
    return [last.total_bytes, last.lower_bound_bytes, every.arena.total_bytes, logits, total]


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
