"""lane beside llama.cpp: `python bench/side_by_side.py FILE… --peer DIR`.

In: checkpoints, and the folder that has llama-bench (LANE_PEER names it too). Out: the median ratio of the two rates
for each file and test, and every measurement as CSV. The programs take turns on the same file with the same threads, so
that what the machine does meanwhile falls on both; a ratio is of one turn's two rates.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn's rates of one test, in tokens a second."""

    file: str
    test: str
    round: int
    lane: float
    peer: float

    @property
    def ratio(self) -> float:
        """lane's rate by the peer's: above 1 lane is faster."""
        return self.lane / self.peer


@dataclass(frozen=True, slots=True)
class Setting:
    """What both are asked to do."""

    peer: Path
    prompt_tokens: int
    decoded_tokens: int
    threads: int
    numerics: str

    @property
    def sizes(self) -> list[str]:
        """Arguments that both programs take."""
        return ["-p", str(self.prompt_tokens), "-n", str(self.decoded_tokens), "-r", "1"]


def lane_rates(file: Path, s: Setting) -> dict[str, float]:
    """One run of `lane bench`: rates by test."""
    command = [sys.executable, "-m", "lane", "bench", str(file), *s.sizes, "--numerics", s.numerics, "-o", "json"]
    rows = json.loads(_output([*command, "--threads", str(s.threads)]))
    return {row["test"]: row["mean"] for row in rows}


def peer_rates(file: Path, s: Setting) -> dict[str, float]:
    """One run of llama-bench: rates by test."""
    command = [str(s.peer / "llama-bench"), "-m", str(file), *s.sizes, "-t", str(s.threads), "-o", "json"]
    rows = json.loads(_output(command))
    return {(f"pp{r['n_prompt']}" if r["n_prompt"] else f"tg{r['n_gen']}"): r["avg_ts"] for r in rows}


def turns(file: Path, s: Setting, rounds: int) -> Iterator[Turn]:
    """Alternates the two."""
    for number in range(1, rounds + 1):
        ours, theirs = lane_rates(file, s), peer_rates(file, s)
        for test, rate in ours.items():
            yield Turn(file.name, test, number, rate, theirs[test])


def summary(measured: Sequence[Turn]) -> list[str]:
    """A line for each file and test."""
    lines = []
    for file, test in dict.fromkeys((t.file, t.test) for t in measured):
        of = [t for t in measured if (t.file, t.test) == (file, test)]
        ours, theirs = (statistics.median(getattr(t, name) for t in of) for name in ("lane", "peer"))
        ratios = [t.ratio for t in of]
        spread = f"{min(ratios):.3f} to {max(ratios):.3f}"
        median = statistics.median(ratios)
        lines.append(f"{file} {test}: lane {ours:.2f}, peer {theirs:.2f} tok/s, median ratio {median:.3f} ({spread})")
    return lines


def _output(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"side_by_side: {command[0]} exited with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="lane beside llama.cpp, turn by turn.")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--peer", type=Path, default=os.environ.get("LANE_PEER"), help="folder of llama-bench")
    parser.add_argument("-p", dest="prompt_tokens", type=int, default=512)
    parser.add_argument("-n", dest="decoded_tokens", type=int, default=128)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--numerics", default="int8")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--csv", type=Path, help="where the measurements go")
    a = parser.parse_args()
    if a.peer is None:
        parser.error("--peer or LANE_PEER must name the folder of llama-bench (tools/build_peer.sh makes it)")
    setting = Setting(Path(a.peer), a.prompt_tokens, a.decoded_tokens, a.threads, a.numerics)
    measured: list[Turn] = []
    for file in a.files:
        of_file = []
        for turn in turns(file, setting, a.rounds):
            of_file.append(turn)
            print(f"{turn.file} {turn.test} round {turn.round}: {turn.ratio:.3f}", file=sys.stderr, flush=True)
        print("\n".join(summary(of_file)), flush=True)
        measured += of_file
    if a.csv:
        with a.csv.open("w", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow([*(f.name for f in fields(Turn)), "ratio"])
            writer.writerows([*astuple(turn), round(turn.ratio, 4)] for turn in measured)


if __name__ == "__main__":
    main()
