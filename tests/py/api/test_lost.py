"""A checkpoint that others cut short while it is in use: whatever reads it says so, and nothing ends the process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import lane
from bench.make_checkpoint import SIZES, make
from lane.checkpoint.gguf import Checkpoint
from lane.errors import CheckpointError

TOKENS = [5, 100, 37, 9]
LOST = "bytes were lost while it was in use"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("checkpoint") / "tiny.gguf"
    make(path, "llama", SIZES["tiny"], ("Q8_0", "Q8_0"))
    return path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / "cut.gguf"))


@pytest.mark.parametrize("left", [0, 8192, 200_000])
def test_a_model_whose_file_is_cut(path: Path, left: int) -> None:
    model = lane.load(path, ctx=64)
    os.truncate(path, left)
    with pytest.raises(CheckpointError, match=LOST):
        model.logits(TOKENS)


def test_a_generation_whose_file_is_cut(path: Path) -> None:
    pieces = lane.load(path, ctx=64).generate(TOKENS, 20)
    next(pieces)
    os.truncate(path, 8192)
    with pytest.raises(CheckpointError, match=LOST):
        list(pieces)


READS: tuple[Callable[[Checkpoint], object], ...] = (
    lambda c: c.metadata["tokenizer.ggml.tokens"],
    lambda c: c.metadata.get("general.architecture"),
    lambda c: c.strings("tokenizer.ggml.tokens"),
    lambda c: c.string_table("tokenizer.ggml.tokens"),
    lambda c: c.identity(),
    lambda c: c.data("output_norm.weight"),
)


@pytest.mark.parametrize("read", READS)
def test_a_head_that_is_cut(path: Path, read: Callable[[Checkpoint], object]) -> None:
    checkpoint = Checkpoint.open(path)
    read(checkpoint)
    os.truncate(path, 0)
    with pytest.raises(CheckpointError, match=r"while (it|the file) was in use"):
        read(checkpoint)


def test_a_view_is_zeros_and_its_reader_asks(path: Path) -> None:
    checkpoint = Checkpoint.open(path)
    view = checkpoint.data("output_norm.weight")
    os.truncate(path, 0)
    assert not view.any()
    with pytest.raises(CheckpointError, match=LOST):
        checkpoint.require_whole()


def test_a_file_put_in_its_place_is_another(path: Path) -> None:
    """The usual way to replace a file leaves the one in use as it is."""
    model = lane.load(path, ctx=64)
    wanted = model.logits(TOKENS)
    other = path.with_name("other")
    other.write_bytes(b"GGUF")
    os.replace(other, path)
    assert (model.logits(TOKENS) == wanted).all()
