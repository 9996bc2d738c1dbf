"""A lowered plan as a file: what the CPU device takes, written for hosts that run it without Python.

Enters: an `Image`, plain numbers. Leaves: a file of little-endian 64-bit words, which `cpp/embed/plan_file.h` describes
and reads. Promise: the same image gives the same bytes; the file ends up whole under its name or not at all.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.int64]

MAGIC = b"LANEPLAN"
VERSION = 1
WORD_BYTES = 8
SPEC_HASH_CHARS = 16


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A file of the checkpoint: its bytes, and how many of them precede its data section."""

    file_bytes: int
    head_bytes: int


@dataclass(frozen=True, slots=True)
class ImageRun:
    """Rows of a matrix that lie end to end in a file of the checkpoint; `offset_bytes` from the file's beginning."""

    part: int
    offset_bytes: int
    size_bytes: int
    rows: int


@dataclass(frozen=True, slots=True)
class ImageMatrix:
    """A matrix of checkpoint rows, in ggml's type of that number."""

    type_id: int
    rows: int
    cols: int
    runs: tuple[ImageRun, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ImageConstant:
    """An array in the pool."""

    offset_bytes: int
    array: npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class ImageIo:
    """Places in a state: the decode step's token, a chunk's tokens, the position (i32), a row of logits (f32)."""

    token: int
    tokens: int
    pos: int
    logits: int


@dataclass(frozen=True, slots=True, eq=False)
class ImageForm:
    """A form: `table` is its buffers (lane.launch.table), `records` each launch's kind, scratch and record."""

    rows: int
    all_rows: bool  # logits of all rows, not of the last
    sequences: int
    arena_bytes: int
    table: Words
    records: Words


@dataclass(frozen=True, slots=True, eq=False)
class Image:
    """A lowered plan.

    `numerics` is its ordinal, `threads` the most that launches have scratch for, `carried` are offset and bytes in a
    state of what a sequence begins with as zeros, `head_sha256` the checkpoint's identity with `parts`.
    """

    spec_hash: str
    numerics: int
    context: int
    vocab: int
    threads: int
    parts: tuple[ImagePart, ...]
    head_sha256: str
    matrices: tuple[ImageMatrix, ...]
    pool_bytes: int
    constants: tuple[ImageConstant, ...]
    state_bytes: int
    carried: tuple[tuple[int, int], ...]
    io: ImageIo
    forms: tuple[ImageForm, ...]


def write_image(path: str | os.PathLike[str], image: Image) -> None:
    """Writes the file. OSError where the system refuses to."""
    body = [*_lists(image), *_data(image)]
    digest = hashlib.sha256()
    for block in body:
        digest.update(block)
    words = len(MAGIC) // WORD_BYTES + 2 + (digest.digest_size + sum(map(len, body))) // WORD_BYTES
    head = MAGIC + _words([VERSION, words]) + digest.digest()
    temporary = Path(f"{os.fspath(path)}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.writelines([head, *body])
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _words(numbers: Sequence[int] | Words) -> bytes:
    return np.asarray(numbers, "<i8").tobytes()


def _lists(image: Image) -> Iterator[bytes]:
    """All but tables, records and constants: numbers and lists of them, each after its count."""
    spec_hash = image.spec_hash.encode("ascii")
    assert len(spec_hash) == SPEC_HASH_CHARS
    yield spec_hash
    yield _words([image.numerics, image.context, image.vocab, image.threads, len(image.parts)])
    yield _words([number for part in image.parts for number in (part.file_bytes, part.head_bytes)])
    yield bytes.fromhex(image.head_sha256)
    yield _words([len(image.matrices)])
    for matrix in image.matrices:
        yield _words([matrix.type_id, matrix.rows, matrix.cols, len(matrix.runs)])
        for run in matrix.runs:
            yield _words([run.part, run.offset_bytes, run.size_bytes, run.rows])
    yield _words([image.pool_bytes, len(image.constants)])
    yield _words([number for c in image.constants for number in (c.offset_bytes, c.array.nbytes)])
    yield _words([image.state_bytes, len(image.carried)])
    yield _words([number for extent in image.carried for number in extent])
    yield _words([image.io.token, image.io.tokens, image.io.pos, image.io.logits, len(image.forms)])
    for form in image.forms:
        sizes = (form.arena_bytes, form.table.size, form.records.size)
        yield _words([form.rows, int(form.all_rows), form.sequences, *sizes])


def _data(image: Image) -> Iterator[bytes]:
    """What the lists name, each array to the next whole word."""
    for form in image.forms:
        yield _words(form.table)
        yield _words(form.records)
    for constant in image.constants:
        raw = constant.array.tobytes()
        yield raw + bytes(-len(raw) % WORD_BYTES)
