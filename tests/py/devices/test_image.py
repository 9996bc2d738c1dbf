"""A plan's image as a file: as its description says, the same bytes each time, whole or not at all."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lane.devices.image import Image, ImageConstant, ImageForm, ImageIo, ImageMatrix, ImagePart, ImageRun, write_image

HEAD_WORDS = 7

IMAGE = Image(
    spec_hash="0123456789abcdef",
    numerics=1,
    context=64,
    vocab=49,
    threads=6,
    parts=(ImagePart(1000, 200), ImagePart(2000, 300)),
    head_sha256="ab" * 32,
    matrices=(ImageMatrix(8, 5, 32, (ImageRun(0, 256, 68, 2), ImageRun(1, 320, 102, 3))),),
    pool_bytes=128,
    constants=(ImageConstant(0, np.arange(3, dtype=np.float32)), ImageConstant(64, np.ones((2, 2), np.float32))),
    state_bytes=4096,
    carried=((0, 1024), (2048, 512)),
    io=ImageIo(1024, 1088, 1152, 3072),
    forms=(
        ImageForm(1, False, 1, 640, np.arange(16).reshape(2, 8), np.array([7, -1, 2**40])),
        ImageForm(4, True, 1, 1280, np.zeros((0, 8), np.int64), np.array([9])),
    ),
)


def test_words(tmp_path: Path) -> None:
    write_image(tmp_path / "plan", IMAGE)
    raw = (tmp_path / "plan").read_bytes()
    words = struct.unpack(f"<{len(raw) // 8}q", raw)
    assert raw[:8] == b"LANEPLAN"
    assert words[1:3] == (1, len(words))
    assert raw[24 : 8 * HEAD_WORDS] == hashlib.sha256(raw[8 * HEAD_WORDS :]).digest()
    assert raw[8 * HEAD_WORDS :][:16] == b"0123456789abcdef"
    digest = struct.unpack("<4q", b"\xab" * 32)
    lists = (1, 64, 49, 6, 2, 1000, 200, 2000, 300, *digest, 1, 8, 5, 32, 2, 0, 256, 68, 2, 1, 320, 102, 3)
    places = (128, 2, 0, 12, 64, 16, 4096, 2, 0, 1024, 2048, 512, 1024, 1088, 1152, 3072)
    forms = (2, 1, 0, 1, 640, 16, 3, 4, 1, 1, 1280, 0, 1, *range(16), 7, -1, 2**40, 9)
    numbers = (*lists, *places, *forms)
    assert words[HEAD_WORDS + 2 :][: len(numbers)] == numbers
    data = raw[8 * (HEAD_WORDS + 2 + len(numbers)) :]
    assert data == struct.pack("<3f4x4f", 0, 1, 2, 1, 1, 1, 1)


def test_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_image(tmp_path / name, IMAGE)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    write_image(tmp_path / "other", replace(IMAGE, context=65))
    assert (tmp_path / "one").read_bytes() != (tmp_path / "other").read_bytes()


def test_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "plan").write_bytes(b"before")
    with pytest.raises(ValueError):
        write_image(tmp_path / "plan", replace(IMAGE, head_sha256="no digest"))
    with pytest.raises(OSError):
        write_image(tmp_path / "none" / "plan", IMAGE)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("plan", b"before")]
