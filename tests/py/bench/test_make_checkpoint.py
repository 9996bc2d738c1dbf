"""Made checkpoints: every family and format is recognised, holds finite values of the right size, and tokenizes."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import gguf
import numpy as np
import pytest

from bench.make_checkpoint import SIZES, block_pool, make
from lane.checkpoint.gguf import Checkpoint
from lane.checkpoint.tokenizer import Tokenizer
from lane.errors import UsageError
from lane.graph.graph import Head
from lane.graph.reference import Reference
from lane.models.recognise import recognise
from lane.models.registry import ARCHITECTURES
from lane.quant.format import Format
from lane.quant.registry import FORMATS

TINY = SIZES["tiny"]
TOKENS = [1, 2, 3, 4]


@pytest.mark.parametrize("family", [architecture.name for architecture in ARCHITECTURES])
def test_families(tmp_path: Path, family: str) -> None:
    path = tmp_path / "model.gguf"
    make(path, family, TINY, ("Q4_0", "Q8_0"))
    model = recognise(Checkpoint.open(path))
    logits = Reference(model.source.matrix).run(model.step(len(TOKENS), Head.ALL), TOKENS, 0)
    assert logits.shape == (len(TOKENS), TINY.vocab)
    assert np.isfinite(logits).all()
    assert logits.std() > 0.01


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_formats(tmp_path: Path, format: Format) -> None:
    path = tmp_path / "model.gguf"
    make(path, "llama", TINY, (format.name, format.name))
    checkpoint = Checkpoint.open(path)
    assert {t.type for t in checkpoint.tensors.values() if len(t.shape) > 1} == {format.name}
    model = recognise(checkpoint)
    logits = Reference(model.source.matrix).run(model.step(len(TOKENS), Head.ALL), TOKENS, 0)
    assert np.isfinite(logits).all()


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_values_are_of_the_size_asked_for(format: Format) -> None:
    rms = 1 / 32
    values = format.decode(block_pool(format, rms, np.random.default_rng(0)))
    found = np.sqrt(np.mean(np.square(values.astype(np.float64))))
    # Blocks are each within a factor of two; single values, of which the pool has 2048, are drawn with that deviation.
    assert rms / 2 < found < rms * 2


def test_another_reader_agrees(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    make(path, "llama", TINY, ("Q4_K", "Q6_K"))
    checkpoint = Checkpoint.open(path)
    reader = gguf.GGUFReader(path)
    assert [tensor.name for tensor in reader.tensors] == list(checkpoint.tensors)
    for tensor in reader.tensors:
        ours = checkpoint.tensors[tensor.name]
        assert (tensor.tensor_type.name, tuple(tensor.shape)) == (ours.type, ours.shape)
        assert tensor.data.tobytes() == checkpoint.data(tensor.name).tobytes()


def test_tokenizer(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    make(path, "llama", TINY, ("Q8_0", "Q8_0"))
    tokenizer = Tokenizer.from_metadata(Checkpoint.open(path).metadata)
    assert tokenizer.vocab_size == TINY.vocab
    for text in ("plain words", "é€😀", "\x00\x01\x7f", "a\n\tb"):
        assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.encode("<|endoftext|>") == [0]


def test_a_seed_repeats_the_file(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        make(tmp_path / name, "llama", TINY, ("Q4_K", "Q4_K"), seed=seed)
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b != c


def test_a_sparse_file_is_the_same_but_for_its_tensors(tmp_path: Path) -> None:
    """The same header and size, and room on the disk for little but the header."""
    large = dataclasses.replace(SIZES["tiny"], ff=1 << 14)
    full, holes = tmp_path / "full.gguf", tmp_path / "holes.gguf"
    make(full, "llama", large, ("Q8_0", "Q8_0"))
    make(holes, "llama", large, ("Q8_0", "Q8_0"), sparse=True)
    assert full.stat().st_size == holes.stat().st_size > 20 << 20
    assert holes.stat().st_blocks * 512 < 1 << 20
    assert Checkpoint.open(full).tensors == Checkpoint.open(holes).tensors


def test_tied(tmp_path: Path) -> None:
    for name, tied in (("tied", True), ("apart", False)):
        make(tmp_path / name, "llama", TINY, ("Q8_0", "Q8_0"), tied=tied)
        assert ("output.weight" in Checkpoint.open(tmp_path / name).tensors) is not tied


@pytest.mark.parametrize(
    ("family", "change", "format", "said"),
    [
        ("abacus", {}, "Q8_0", "family 'abacus', allowed llama"),
        ("llama", {"embd": 192}, "Q4_K", "rows of 192 values, allowed a multiple of 256 (Q4_K)"),
        ("llama", {"vocab": 100}, "Q8_0", "a vocabulary of 100 tokens, allowed 260 or more"),
    ],
)
def test_refusals(tmp_path: Path, family: str, change: dict[str, int], format: str, said: str) -> None:
    import dataclasses

    with pytest.raises(UsageError) as caught:
        make(tmp_path / "model.gguf", family, dataclasses.replace(TINY, **change), (format, format))
    assert said in str(caught.value)
