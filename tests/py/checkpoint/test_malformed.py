"""Every malformed file of the table gets its error, in bounded time and memory."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lane.checkpoint.gguf import Checkpoint
from lane.errors import LaneError
from tests.py.checkpoint.limits import Piece, run_within
from tests.py.checkpoint.malformed import Case, cases
from tests.py.checkpoint.raw_gguf import KINDS, NUMBERS, Entry, File, Tensor, array, scalar

CASES = tuple(cases())

# What opening a file may allocate beyond its mapping: the reader promises four times the file's head; as much again
# for how containers and the allocator grow, and what the interpreter takes to raise an error.
MULTIPLE = 8
INTERPRETER_BYTES = 8 << 20

# A small file's parse takes microseconds; a second says that something looped over a count and not over bytes.
SECONDS = 1.0
# A sort of the densest file: some 20 comparisons an entry of 18 bytes, each far under a microsecond, so under a
# second for 16 MB; times four for a slow machine.
SECONDS_PER_MB = 0.25


def refusal_of(path: Path) -> str:
    """The class and text of the error, or what else came of it."""
    try:
        Checkpoint.open(path)
    except LaneError as error:
        return f"{type(error).__name__}: {error}"
    except Exception as error:
        return f"not refused but raised {error!r}"
    return "opened"


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder / next(iter(files))


def test_the_table_is_long_and_its_files_distinct() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert len({tuple(case.files.items()) for case in CASES}) == len(CASES)
    assert len(CASES) >= 200


def opening(path: Path, file_bytes: int) -> Piece:
    return Piece(lambda: refusal_of(path), file_bytes + MULTIPLE * file_bytes + INTERPRETER_BYTES)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_it_is_refused(case: Case, tmp_path: Path) -> None:
    message = refusal_of(write(tmp_path, case.files))
    assert message.startswith(f'{case.error.__name__}: checkpoint: "{tmp_path}')
    assert "\n" not in message
    for fragment in case.fragments:
        assert fragment in message


def test_all_are_refused_in_time_and_memory(tmp_path: Path) -> None:
    pieces = []
    for i, case in enumerate(CASES):
        folder = tmp_path / str(i)
        folder.mkdir()
        pieces.append(opening(write(folder, case.files), sum(len(data) for data in case.files.values())))
    for case, (message, seconds) in zip(CASES, run_within(pieces), strict=True):
        assert message.startswith(f"{case.error.__name__}: checkpoint:"), case.name
        assert seconds < SECONDS, case.name


def dense_files() -> dict[str, Callable[[], File]]:
    """Files with as much for the reader to do as their bytes can hold, each wrong at its very end."""
    bad = Entry(b"bad", 99, b"")

    def keys(*last: Entry) -> File:
        return File([*(Entry(b"%05x" % (i * 7919 % 200_003), 0, b"\1") for i in range(200_000)), *last])

    def long_keys() -> File:
        entries = [Entry(b"k" * 65_000 + b"%02x" % (i * 31 % 60), 0, b"\1") for i in range(60)]
        return File([*entries, entries[0]])

    def tensors(data_bytes: int, *last: Tensor, prefix: bytes = b"") -> File:
        byte = 24  # the id of I8, which gives the smallest tensors
        entries = [Tensor(prefix + b"%05x" % (i * 7919 % 50_021), (1,), byte, 8 * i) for i in range(50_000)]
        alignment = scalar("general.alignment", "u32", 8)
        return File([alignment], [*entries, *last], bytes(data_bytes), alignment=8)

    return {
        "many keys": lambda: keys(bad),
        "many keys, one twice": lambda: keys(Entry(b"%05x" % 7919, 0, b"\1")),
        "long keys, one twice": long_keys,
        "many tensors, one twice": lambda: tensors(400_008, Tensor(b"%05x" % 7919, (1,), 24, 400_000)),
        "many tensors, two overlap": lambda: tensors(400_000, Tensor(b"last", (1,), 24, 0)),
        "many long names": lambda: tensors(400_000, Tensor(b"last", (1,), 99), prefix=b"n" * 59),
        "many strings": lambda: File([array("a", "string", [b""] * 200_000), bad]),
        "many bools": lambda: File([Entry(b"a", KINDS["array"], bytes(4_000_000), KINDS["bool"], 4_000_000), bad]),
        "a long string": lambda: File([scalar("a", "string", "\u20ac".encode() * 1_000_000), bad]),
    }


@pytest.mark.parametrize("name", dense_files())
def test_dense_files_are_refused_in_time_and_memory(name: str, tmp_path: Path) -> None:
    data = dense_files()[name]().build()
    path = write(tmp_path, {"dense.gguf": data})
    [(message, seconds)] = run_within([opening(path, len(data))])
    assert message.startswith(("CheckpointError: checkpoint:", "UnsupportedError: checkpoint:"))
    assert seconds < SECONDS + SECONDS_PER_MB * len(data) / 1e6


def test_a_count_is_not_believed(tmp_path: Path) -> None:
    """A file of 64 GB of zeros that claims two thousand million entries: refused without memory for them."""
    path = tmp_path / "sparse.gguf"
    path.write_bytes(File(entry_count=2**31).build())
    file_bytes = 1 << 36
    os.truncate(path, file_bytes)
    mapping_and_interpreter_bytes = file_bytes + INTERPRETER_BYTES
    [(message, seconds)] = run_within([Piece(lambda: refusal_of(path), mapping_and_interpreter_bytes)])
    assert "header: metadata count is 2147483648; allowed: at most 1048576" in message
    assert seconds < SECONDS


def test_every_prefix_is_refused(tmp_path: Path) -> None:
    """A file that has every kind of value, cut at every byte."""
    entries = [scalar(f"{kind}.one", kind, 1) for kind in NUMBERS]
    entries += [array(f"{kind}.array", kind, [0, 1, 1]) for kind in NUMBERS]
    entries += [scalar("string.one", "string", b"text"), array("string.array", "string", [b"a", b"", b"bc"])]
    whole = File(entries, [Tensor(b"one"), Tensor(b"two", (32, 2), 8, 32)], bytes(100)).build()
    path = tmp_path / "cut.gguf"
    path.write_bytes(whole)
    assert refusal_of(path) == "opened"
    for end in reversed(range(len(whole))):
        os.truncate(path, end)
        assert refusal_of(path).startswith("CheckpointError: checkpoint:"), end
