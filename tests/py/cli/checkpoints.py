"""Small checkpoints for the command line: a good one, and ones that must be refused, made by changing its bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.make_checkpoint import SIZES, make

CONTEXT = SIZES["tiny"].context
VOCAB = SIZES["tiny"].vocab

I8 = 24  # a tensor type that GGUF has and no model's matrix


def good(folder: Path) -> Path:
    """A llama of two layers."""
    path = folder / "good.gguf"
    if not path.exists():
        make(path, "llama", SIZES["tiny"], ("Q8_0", "Q8_0"))
    return path


def changed(folder: Path, name: str, change: Callable[[bytes], bytes]) -> Path:
    """A copy of the good one with its bytes changed."""
    path = folder / f"{name}.gguf"
    path.write_bytes(change(good(folder).read_bytes()))
    return path


def replaced(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    """Puts `new`, of the same length, in place of the one `old`."""

    def change(data: bytes) -> bytes:
        assert len(old) == len(new) and data.count(old) == 1
        return data.replace(old, new)

    return change


def with_entries(**entries: float | int | str | bool) -> Callable[[bytes], bytes]:
    """Adds metadata, keys with __ for a dot. A last entry fills up to the alignment, so that tensors stay in place."""

    def entry(key: str, value: float | int | str | bool) -> bytes:
        kind, packed = next((number, pack(value)) for of, number, pack in PACKED if type(value) is of)
        name = key.replace("__", ".").encode()
        return struct.pack("<Q", len(name)) + name + struct.pack("<I", kind) + packed

    def change(data: bytes) -> bytes:
        added = b"".join(entry(key, value) for key, value in entries.items())
        bare = len(entry("test.fill", ""))
        added += entry("test.fill", " " * (-(len(added) + bare) % 32))
        (count,) = struct.unpack_from("<Q", data, 16)
        return data[:16] + struct.pack("<Q", count + len(entries) + 1) + added + data[24:]

    return change


def without(key: bytes, rest_bytes: int) -> Callable[[bytes], bytes]:
    """Takes an entry out: its key, and `rest_bytes` of kind and value. One that fills the room takes its place."""

    def change(data: bytes) -> bytes:
        at = data.index(struct.pack("<Q", len(key)) + key)
        after = at + 8 + len(key) + rest_bytes
        name = b"test.fill"
        filled = struct.pack("<Q", len(name)) + name + struct.pack("<IB", 0, 0)  # a u8
        room = after - at - len(filled)
        assert room >= 0
        filled = struct.pack("<Q", len(name) + room) + name + b"_" * room + struct.pack("<IB", 0, 0)
        return data[:at] + filled + data[after:]

    return change


PACKED: tuple[tuple[type, int, Callable[[object], bytes]], ...] = (
    (float, 6, lambda value: struct.pack("<f", value)),
    (int, 5, lambda value: struct.pack("<i", value)),
    (bool, 7, lambda value: struct.pack("<?", value)),
    (str, 8, lambda value: struct.pack("<Q", len(str(value))) + str(value).encode()),
)


def retyped(tensor: bytes, kind: int) -> Callable[[bytes], bytes]:
    """Gives a matrix's record another type: after its name come the number of dimensions, two of them, the type."""

    def change(data: bytes) -> bytes:
        at = data.index(struct.pack("<Q", len(tensor)) + tensor) + 8 + len(tensor) + 4 + 2 * 8
        return data[:at] + struct.pack("<I", kind) + data[at + 4 :]

    return change


def text_value(text: bytes) -> bytes:
    """A metadata value that is a string: its kind, its length, itself."""
    return struct.pack("<IQ", 8, len(text)) + text


# Each with the exit code and what the error says: the object and why.
REFUSED: Mapping[str, tuple[Callable[[bytes], bytes], int, tuple[str, ...]]] = {
    "empty": (lambda data: b"", 3, ("empty.gguf",)),
    "truncated": (lambda data: data[: len(data) // 2], 3, ("truncated.gguf",)),
    "truncated_head": (lambda data: data[:1000], 3, ("truncated_head.gguf",)),
    "wrong_magic": (lambda data: b"GGML" + data[4:], 3, ("magic",)),
    "unknown_architecture": (replaced(text_value(b"llama"), text_value(b"xxxxx")), 4, ("architecture 'xxxxx'",)),
    "unsupported_type": (retyped(b"blk.1.ffn_up.weight", I8), 4, ("I8",)),
    "missing_tensor": (
        replaced(b"blk.1.ffn_up.weight", b"blk.1.ffn_xx.weight"),
        3,
        ("blk.1.ffn_up.weight", "required"),
    ),
    "unread_key": (replaced(b"llama.rope.freq_base", b"llama.rope.freq_xxxx"), 4, ("llama.rope.freq_xxxx",)),
    "unknown_tokenizer": (replaced(text_value(b"gpt2"), text_value(b"xxxx")), 4, ("tokenizer.ggml.model", "xxxx")),
}

NEEDED_FOR_TEXT = frozenset({"unknown_tokenizer"})  # of the refused ones, those that run as long as there is no text
