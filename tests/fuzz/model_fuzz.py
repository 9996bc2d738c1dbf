"""Fuzzes what a checkpoint says: hyperparameters against tensors, tokenizer, steps compiled and run.

    python -m tests.fuzz.model_fuzz CORPUS [libFuzzer options]

Needs the `atheris` package. An input is read as choices: a good checkpoint and edits of it (tests/fuzz/edited.py).
"""

import resource
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["lane.checkpoint", "lane.models"]):
    from tests.fuzz.edited import edited
    from tests.fuzz.reached import read_content
from tests.fuzz.start_fuzz import start

MORE_BYTES = 1 << 30  # beyond what the process has mapped when it starts; files are under a megabyte


def test_one_input(data: bytes) -> None:
    read_content(edited(data))


if __name__ == "__main__":
    mapped_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped_bytes + MORE_BYTES, resource.RLIM_INFINITY))
    start("tests.fuzz.model_fuzz", test_one_input)
