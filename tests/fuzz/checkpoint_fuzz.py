"""Fuzzes the checkpoint's Python layer: each input is refused by a LaneError, or everything in it can be read.

    python -m tests.fuzz.checkpoint_fuzz CORPUS [libFuzzer options]

Needs the `atheris` package. Inputs are GGUF files, as tests.fuzz.make_corpus writes them.
"""

import itertools
import os
import sys
from collections.abc import Callable

import atheris
import numpy as np

with atheris.instrument_imports(include=["lane"]):
    from lane.checkpoint.gguf import Checkpoint
    from lane.errors import CheckpointError, LaneError


def asked(look_up: Callable[[], object]) -> object | None:
    """What a typed look-up gives, None if it refuses: it may do nothing else."""
    try:
        return look_up()
    except CheckpointError as error:
        assert "; allowed: " in str(error)
        return None


def read_everything(checkpoint: Checkpoint) -> None:
    for key in checkpoint.metadata:
        kind, count = checkpoint.metadata.kind(key)
        value = checkpoint.metadata[key]
        if count is not None:
            assert isinstance(value, np.ndarray | list) and len(value) == count
        number = asked(lambda key=key: checkpoint.u32(key))
        assert number is None or 0 <= number < 2**32
        asked(lambda key=key: checkpoint.f32(key, 1.0))
        asked(lambda key=key: checkpoint.bool_(key))
        asked(lambda key=key: checkpoint.str_(key))
        for array_kind in ("u32", "i32", "f32", "bool"):
            asked(lambda key=key, array_kind=array_kind: checkpoint.array(key, array_kind))
        strings = asked(lambda key=key: checkpoint.strings(key))
        table = asked(lambda key=key: checkpoint.string_table(key))
        assert (strings is None) == (table is None) == (kind != "string" or count is None)
        if strings is not None:
            blob, offsets = table
            assert strings == [blob[a:b].decode() for a, b in itertools.pairwise(offsets)]
    for info in checkpoint.tensors.values():
        assert checkpoint.data(info.name).size == info.bytes
    assert len(checkpoint.identity().head_sha256) == 64


def test_one_input(data: bytes) -> None:
    file = os.memfd_create("fuzzed")
    try:
        os.write(file, data)
        try:
            checkpoint = Checkpoint.open(f"/proc/self/fd/{file}")
        except LaneError as error:
            assert str(error).startswith("checkpoint: ")
            return
        read_everything(checkpoint)
    finally:
        os.close(file)


if __name__ == "__main__":
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
