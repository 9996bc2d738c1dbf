"""Writes the fuzzers' seed corpora: every malformed file of the table, and good files to mutate.

    python -m tests.fuzz.make_corpus FOLDER

In FOLDER/files a GGUF file an input; in FOLDER/splits two of them, after the first's length (u32).
"""

import struct
import sys
from pathlib import Path

from tests.py.checkpoint.malformed import Case, cases
from tests.py.checkpoint.raw_gguf import NUMBERS, File, Tensor, array, scalar

LARGEST_SEED_BYTES = 1 << 14


def good_files() -> list[File]:
    entries = [scalar(f"{kind}.one", kind, 1) for kind in NUMBERS]
    entries += [array(f"{kind}.array", kind, [0, 1, 1]) for kind in NUMBERS]
    entries += [
        scalar("general.architecture", "string", b"llama"),
        array("tokenizer.ggml.tokens", "string", [b"<s>", b"", "\u2581the".encode()]),
        scalar("general.alignment", "u32", 64),
    ]
    tensors = [Tensor(b"one"), Tensor(b"two", (32, 2), 8, 64), Tensor(b"four", (2, 2, 2, 2), 24, 192)]
    return [
        File(),
        File(version=2),
        File(entries, tensors, bytes(208), alignment=64),
        File([], tensors, bytes(208)),
        *(File([entry], tensors[:1], bytes(32)) for entry in entries[:-1]),
    ]


def good_split() -> tuple[bytes, bytes]:
    parts = []
    for i in range(2):
        values = {"split.no": i, "split.count": 2, "split.tensors.count": 2}
        entries = [scalar(key, "u16", value) for key, value in values.items()]
        parts.append(File(entries, [Tensor(b"w%d" % i)], bytes(32)).build())
    return parts[0], parts[1]


def joined(first: bytes, second: bytes) -> bytes:
    return struct.pack("<I", len(first)) + first + second


def seeds(case: Case) -> bytes:
    """The files as one input of the target for one file, or of that for two."""
    contents = list(case.files.values())
    return contents[0] if len(contents) == 1 else joined(contents[0], contents[1])


def main(folder: Path) -> None:
    files, splits = folder / "files", folder / "splits"
    for made in (files, splits):
        made.mkdir(parents=True, exist_ok=True)
    for i, file in enumerate(good_files()):
        data = file.build()
        (files / f"good_{i}").write_bytes(data)
        (splits / f"good_{i}").write_bytes(joined(data, b""))
    (splits / "good").write_bytes(joined(*good_split()))
    for i, case in enumerate(cases()):
        data = seeds(case)
        if len(data) <= LARGEST_SEED_BYTES:
            ((files if len(case.files) == 1 else splits) / f"case_{i}").write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
