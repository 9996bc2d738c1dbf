"""Every malformed file of the table gets its error, in bounded time and memory."""

from pathlib import Path

import pytest
from tests.py.checkpoint.limits import run_within
from tests.py.checkpoint.malformed import Case, cases
from tests.py.checkpoint.raw_gguf import Entry, File, Tensor, array, scalar

from lane.checkpoint.gguf import Checkpoint
from lane.errors import LaneError

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


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_it_is_refused(case: Case, tmp_path: Path) -> None:
    path = write(tmp_path, case.files)
    file_bytes = sum(len(data) for data in case.files.values())
    allowed_bytes = file_bytes + MULTIPLE * file_bytes + INTERPRETER_BYTES
    message, seconds = run_within(allowed_bytes, lambda: refusal_of(path))
    assert message.startswith(f'{case.error.__name__}: checkpoint: "{tmp_path}')
    assert "\n" not in message
    for fragment in case.fragments:
        assert fragment in message
    assert seconds < SECONDS


def dense_files() -> dict[str, File]:
    """Files with as much for the reader to do as their bytes can hold, each wrong at its very end."""
    bad = Entry(b"bad", 99, b"")
    keys = [Entry(b"%06x" % (i * 7919 % 400_000), 0, b"\1") for i in range(400_000)]
    names = [Tensor(b"%06x" % (i * 7919 % 200_000), (1,), 24, 8 * i) for i in range(200_000)]
    long_names = [Tensor(b"n" * 60 + b"%04x" % i, (1,), 24, 8 * i) for i in range(60_000)]
    long_keys = [Entry(b"k" * 65_000 + b"%04x" % (i * 31 % 120), 0, b"\1") for i in range(120)]
    aligned = scalar("general.alignment", "u32", 8)
    return {
        "many keys": File([*keys, bad]),
        "many keys, one twice": File([*keys, keys[0]]),
        "long keys, one twice": File([*long_keys, long_keys[0]]),
        "many tensors, one twice": File([aligned], [*names, names[0]], bytes(8 * 200_001), alignment=8),
        "many tensors, two overlap": File([aligned], names, bytes(8 * 200_000 - 8), alignment=8),
        "many long names": File([aligned], [*long_names, Tensor(b"last", (1,), 99)], bytes(480_000), alignment=8),
        "many strings": File([array("a", "string", [b""] * 1_000_000), bad]),
        "many bools": File([array("a", "bool", [0] * 4_000_000), bad]),
        "a long string": File([scalar("a", "string", "\u20ac".encode() * 2_000_000), bad]),
    }


@pytest.mark.parametrize("name", dense_files())
def test_dense_files_are_refused_in_time_and_memory(name: str, tmp_path: Path) -> None:
    data = dense_files()[name].build()
    path = write(tmp_path, {"dense.gguf": data})
    allowed_bytes = len(data) + MULTIPLE * len(data) + INTERPRETER_BYTES
    message, seconds = run_within(allowed_bytes, lambda: refusal_of(path))
    assert message.startswith("CheckpointError: checkpoint:") or "UnsupportedError: checkpoint:" in message
    assert seconds < SECONDS + SECONDS_PER_MB * len(data) / 1e6


def test_a_count_is_not_believed(tmp_path: Path) -> None:
    """A file of a terabyte of zeros that claims as many entries as fit: refused without memory for them."""
    path = tmp_path / "sparse.gguf"
    path.write_bytes(File(entry_count=2**36).build())
    with path.open("r+b") as file:
        file.truncate(1 << 40)
    mapping_bytes = 1 << 40
    message, seconds = run_within(mapping_bytes + INTERPRETER_BYTES, lambda: refusal_of(path))
    assert "header: metadata count is 68719476736; allowed: at most 1048576" in message
    assert seconds < SECONDS
