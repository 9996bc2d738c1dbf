"""Starts a fuzzer written in Python, so that libFuzzer can start it again: merging corpora does."""

import sys
from collections.abc import Callable

import atheris


def start(module: str, test_one_input: Callable[[bytes], None]) -> None:
    """Fuzzes; `module` is what `python -m` runs."""
    atheris.Setup([f"{sys.executable} -m {module}", *sys.argv[1:]], test_one_input)
    atheris.Fuzz()
