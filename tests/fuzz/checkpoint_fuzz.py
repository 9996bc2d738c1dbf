"""Fuzzes the checkpoint's Python layer: each input is refused by a LaneError, or everything in it can be read.

    python -m tests.fuzz.checkpoint_fuzz CORPUS [libFuzzer options]

Needs the `atheris` package. Inputs are GGUF files, as tests.fuzz.make_corpus writes them.
"""

import atheris

with atheris.instrument_imports(include=["lane"]):
    from tests.fuzz.reached import read_fields
from tests.fuzz.start_fuzz import start

if __name__ == "__main__":
    start("tests.fuzz.checkpoint_fuzz", read_fields)
