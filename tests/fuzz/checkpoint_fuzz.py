"""Fuzzes the checkpoint's Python layer: each input is refused by a LaneError, or everything in it can be read.

    python -m tests.fuzz.checkpoint_fuzz CORPUS [libFuzzer options]

Needs the `atheris` package. Inputs are GGUF files, as tests.fuzz.make_corpus writes them.
"""

import sys

import atheris

with atheris.instrument_imports(include=["lane"]):
    from tests.fuzz.reached import read_fields

if __name__ == "__main__":
    atheris.Setup(sys.argv, read_fields)
    atheris.Fuzz()
