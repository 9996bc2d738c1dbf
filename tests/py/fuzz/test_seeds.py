"""The fuzzers' seeds through what the fuzzers call: no fuzzing, but each promise on each seed, wherever tests run."""

from __future__ import annotations

from pathlib import Path

from lane.checkpoint.chat import ChatLimits, ChatTemplate
from lane.checkpoint.gguf import Checkpoint
from tests.fuzz.edited import edited
from tests.fuzz.make_corpus import LARGEST_SEED_BYTES, edit_seeds, file_seeds, main, split_seeds, template_seeds
from tests.fuzz.reached import bounded, read_content, read_fields, refused, render

LIMITS = ChatLimits(cpu_seconds=2, wall_seconds=600.0)


def test_files() -> None:
    for data in file_seeds():
        with bounded():
            read_fields(data)


def test_splits(tmp_path: Path) -> None:
    first, second = tmp_path / "m-00001-of-00002.gguf", tmp_path / "m-00002-of-00002.gguf"
    opened = 0
    for data in split_seeds():
        middle = int.from_bytes(data[:4], "little")
        for path, part in ((first, data[4 : 4 + middle]), (second, data[4 + middle :])):
            path.unlink(missing_ok=True)
            path.write_bytes(part)
        with bounded():
            opened += not refused(lambda: Checkpoint.open(first))
            refused(lambda: Checkpoint.open(second))
    assert opened > 0


def test_edits() -> None:
    for data in edit_seeds():
        read_content(edited(data))


def test_templates() -> None:
    for data in template_seeds():
        source = data.decode(errors="replace")
        render(source, ChatTemplate(source, limits=LIMITS))


def test_the_corpus_is_small(tmp_path: Path) -> None:
    main(tmp_path)
    sizes = [path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()]
    assert len(sizes) > 500
    assert max(sizes) <= LARGEST_SEED_BYTES and sum(sizes) < 1 << 20
