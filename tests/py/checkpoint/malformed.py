"""Malformed GGUF files, each with the error that it must get.

In: nothing. Out: `cases()`: distinct files (or sets of split files), the class of the error and pieces of its
message: the object, the field, the value found or the value allowed. Every field of the format is truncated
at each of its bytes, and given values that overflow, that are out of range, that lie about the rest of the
file, or that are there twice.
"""

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from lane.errors import CheckpointError, LaneError, UnsupportedError, UsageError
from tests.py.checkpoint.raw_gguf import (
    KINDS,
    NUMBERS,
    Entry,
    File,
    Tensor,
    array,
    element,
    number,
    scalar,
    string,
)

BLOCKS = {  # the quantised types' ids and values a block
    2: 32, 3: 32, 6: 32, 7: 32, 8: 32, 9: 32, 10: 256, 11: 256, 12: 256, 13: 256, 14: 256, 15: 256, 16: 256,
    17: 256, 18: 256, 19: 256, 20: 32, 21: 256, 22: 256, 23: 256, 29: 256, 34: 256, 35: 256, 39: 32, 40: 64,
    41: 128, 42: 64,
}  # fmt: skip
NOT_UTF8 = {
    "byte_ff": b"a\xff",
    "lone_continuation": b"\x80",
    "overlong_2": b"\xc0\xaf",
    "overlong_3": b"\xe0\x80\xaf",
    "overlong_4": b"\xf0\x80\x80\xaf",
    "surrogate": b"\xed\xa0\x80",
    "past_10ffff": b"\xf4\x90\x80\x80",
    "cut_short": b"12345678\xe2\x82",
}
HUGE = {"2^31": 2**31, "2^32": 2**32, "2^61": 2**61, "2^63": 2**63, "2^64-1": 2**64 - 1}


@dataclass(frozen=True)
class Case:
    """Files by name, of which the first is opened; the error's class; what its message must hold."""

    name: str
    files: dict[str, bytes]
    error: type[LaneError]
    fragments: tuple[str, ...]


def case(name: str, data: bytes, *fragments: str, error: type[LaneError] = CheckpointError) -> Case:
    return Case(name, {"model.gguf": data}, error, fragments)


def with_entry(entry: Entry) -> File:
    """After an entry large enough that the header's counts fit however little of this one follows."""
    return File([scalar("general.name", "string", b"a model"), entry])


def with_tensor(tensor: Tensor, data: bytes = bytes(64), alignment: int = 32) -> File:
    """Likewise, and aligned as it says."""
    entries = [scalar("general.alignment", "u32", alignment), scalar("general.name", "string", b"a model")]
    return File(entries, [tensor], data, alignment=alignment)


def entry_case(name: str, entry: Entry, *fragments: str, error: type[LaneError] = CheckpointError) -> Case:
    return case(name, with_entry(entry).build(), *fragments, error=error)


def tensor_case(name: str, tensor: Tensor, *fragments: str, error: type[LaneError] = CheckpointError) -> Case:
    return case(name, with_tensor(tensor).build(), *fragments, error=error)


def cut_in_fields(name: str, file: File, first: int, end: int | None = None) -> Iterator[Case]:
    """The file cut at the start, in the middle and a byte before the end of each field, `first` to `end`."""
    whole = file.build()
    last = file.entries[-1]
    for span in file.spans[first:end]:
        for cut in sorted({span.start, (span.start + span.end) // 2, span.end - 1}):
            field = span.field
            # An array's count is refused where the bytes that are left cannot hold it, at eight a string at least.
            if last.element_kind is not None and (field == "value" or cut < span.start + 8 * last.count):
                field = "element count" if field in ("value", "string") else field
            yield case(f"{name}_cut_at_{cut}", whole[:cut], f"{span.place}: {field}", "where the file ends")


def incomplete(found: int, needed: int) -> tuple[str, ...]:
    """The parts of a message about a file that ends too early."""
    return f"file: size is {found} bytes", f"allowed: {needed} or more", '"w" ends there', "the file is incomplete"


# Files that people have in place of the one that they mean, by how each begins, and what is said of it.
OTHER_FILES = {
    "page": (b"<!DOCTYPE html>\n<html>", "a page, as a server sends"),
    "page_later": (b"\xef\xbb\xbf\n  <HTML lang=en>", "a page"),
    "xml_page": (b"<?xml version='1.0'?><Error><Code>AccessDenied</Code>", "a page"),
    "lfs_pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a", "a pointer of git-lfs"),
    "safetensors": (struct.pack("<Q", 40) + b'{"__metadata__":{"format":"pt"}}', "a safetensors file"),
    "safetensors_padded": (struct.pack("<Q", 40) + b"{  ", "a safetensors file"),
    "zip": (b"PK\x03\x04\x00\x00\x08\x08archive/data.pkl", "a zip archive"),
    "gzip": (b"\x1f\x8b\x08\x00", "a compressed file"),
    "zstd": (b"\x28\xb5\x2f\xfd", "a compressed file"),
    "xz": (b"\xfd7zXZ\x00", "a compressed file"),
    "tar": (b"model.gguf".ljust(257, b"\0") + b"ustar\x0000", "a compressed file or an archive"),
    "pickle": (b"\x80\x02}q\x00", "a checkpoint of PyTorch's"),
    "older": (b"tjgg\x03\x00\x00\x00", "a model of ggml's from before GGUF"),
    "other_order": (b"FUGG\x00\x00\x00\x03", "a GGUF file of the other byte order"),
    "json": (b'{"error":"Repository not found"}', "a text"),
    "program": (b"\x7fELF\x02\x01", "a program"),
    "unfilled": (bytes(64), "empty at its start"),
}


def header() -> Iterator[Case]:
    yield case("empty", b"", "header: magic", "4 bytes")
    for end in range(1, 24):
        field = "magic" if end < 4 else "version" if end < 8 else "tensor count" if end < 16 else "metadata count"
        yield case(f"header_cut_at_{end}", File().build()[:end], f"header: {field} at byte", "truncated")
    for name, magic in {
        "zip": b"PK\x03\x04",
        "lower_case": b"gguf",
        "older_format": b"ggml",
        "reversed": b"FUGG",
        "zeros": bytes(4),
        "html": b"<htm",
    }.items():
        yield case(f"magic_{name}", File(magic=magic).build(), "header: magic is", 'allowed: "GGUF"')
    for name, (beginning, what) in OTHER_FILES.items():
        yield case(f"other_{name}", beginning + b" and more" * 9, "header: magic is", f", as that of {what}")
    for version in (0, 1, 4, 65535, 65537, 2**31, 2**32 - 1):
        fragments = (f"header: version is {version}", "allowed: 2 and 3")
        if version == 2**31:  # of the other byte order, to judge by its zeros
            fragments = ("header: version is 128 of a big-endian file", "allowed: 2 and 3")
        yield case(f"version_{version}", File(version=version).build(), *fragments, error=UnsupportedError)
    for version in (2, 3):
        fragments = (f"header: version is {version} of a big-endian file", "little-endian")
        data = File(version=version << 24).build()
        yield case(f"big_endian_{version}", data, *fragments, error=UnsupportedError)
    tensor, entry = Tensor(b"w"), scalar("a", "u8", 1)
    for name, count in HUGE.items():
        fragments = (f"count is {count}", "at most")
        yield case(f"tensor_count_{name}", File([entry], [tensor], bytes(32), tensor_count=count).build(), *fragments)
        yield case(
            f"metadata_count_{name}",
            File([entry], [tensor], bytes(32), entry_count=count).build(),
            *fragments,
        )
    yield case("tensor_count_without_tensors", File([entry], tensor_count=1).build(), "header: tensor count is 1")
    yield case("metadata_count_without_any", File(entry_count=1).build(), "header: metadata count is 1")
    data = File([entry], [tensor], bytes(32), entry_count=2).build()
    yield case("metadata_count_one_more", data, "tensor entry 0: name length is 0", "1 to 64")
    data = File([entry], [tensor], bytes(96), tensor_count=2).build()
    yield case("tensor_count_one_more", data, "tensor entry 1: name length is 0", "1 to 64")
    most = 2**20
    data = File([entry], entry_count=most + 1).build() + bytes(14 * (most + 1))
    yield case("metadata_count_past_bound", data, f"header: metadata count is {most + 1}", f"at most {most}")
    data = File([entry], tensor_count=most + 1).build() + bytes(37 * (most + 1))
    yield case("tensor_count_past_bound", data, f"header: tensor count is {most + 1}", f"at most {most}")


def keys() -> Iterator[Case]:
    def named(key: bytes, length: int | None = None) -> Entry:
        return Entry(key, KINDS["u8"], b"\1", key_length=length)

    for name, text in NOT_UTF8.items():
        yield entry_case(f"key_{name}", named(text), "metadata entry 1: key is", "allowed: UTF-8")
    for size in (0, 65536, 100_000):
        fragments = (f"metadata entry 1: key length is {size}", "1 to 65535")
        yield entry_case(f"key_of_{size}_bytes", named(b"k" * size), *fragments)
    for name, length in HUGE.items():
        fragments = (f"metadata entry 1: key length is {length}", "at most")
        yield entry_case(f"key_length_{name}", named(b"k", length), *fragments)
    twice = scalar("general.name", "string", b"a model")
    yield entry_case("key_twice_same_value", twice, 'key "general.name": key is there twice')
    yield entry_case("key_twice_other_kind", scalar("general.name", "u8", 1), 'key "general.name": key is there twice')
    entries = [scalar(f"k{i % 50}", "u8", 1) for i in range(51)]
    yield case("key_twice_of_many", File(entries).build(), 'key "k0": key is there twice')


def values() -> Iterator[Case]:
    # Where each field of the entry starts: key, kind, value; of an array key, kind, element kind, count, elements.
    key_field, value_field, count_field = 7, 9, 10
    yield from cut_in_fields("entry", with_entry(array("a.key", "u8", [1])), key_field, count_field)
    for kind in KINDS:
        if kind == "array":
            continue
        one: object = b"text" if kind == "string" else 1
        yield from cut_in_fields(f"value_{kind}", with_entry(scalar("a.key", kind, one)), value_field)
        yield from cut_in_fields(f"array_{kind}", with_entry(array("a.key", kind, [one] * 3)), count_field)
        for name, count in HUGE.items():
            entry = array("a.key", kind, [one], count)
            yield entry_case(f"array_{kind}_count_{name}", entry, f'key "a.key": element count is {count}', "at most")
    for code in (13, 14, 255, 2**31, 2**32 - 1):
        fragments = (f"kind is {code}", "0 to 12")
        yield entry_case(f"kind_{code}", Entry(b"k", code, bytes(8)), 'key "k": ' + fragments[0], fragments[1])
        entry = Entry(b"k", KINDS["array"], bytes(8), code, 1)
        yield entry_case(f"element_kind_{code}", entry, 'key "k": element ' + fragments[0], fragments[1])
    nested = Entry(b"k", KINDS["array"], element("u32", 4) + number("u64", 0), KINDS["array"], 1)
    yield entry_case("nested_array", nested, 'key "k": element kind is array', "not nested", error=UnsupportedError)
    for value in (2, 127, 255):
        yield entry_case(f"bool_{value}", scalar("k", "bool", value), f'key "k": bool is {value}', "0 and 1")
        entry = array("k", "bool", [0, 1, value])
        yield entry_case(f"bool_{value}_in_array", entry, f'key "k": bool is {value}', "0 and 1")
    for name, text in NOT_UTF8.items():
        yield entry_case(f"string_{name}", scalar("k", "string", text), 'key "k": string is', "UTF-8")
        entry = array("k", "string", [b"good", text, b"good"])
        yield entry_case(f"string_{name}_in_array", entry, 'key "k": string is', "UTF-8")
    for name, length in HUGE.items():
        fragments = (f'key "k": string length is {length}', "at most")
        yield entry_case(f"string_length_{name}", Entry(b"k", KINDS["string"], string(b"a", length)), *fragments)
        elements = string(b"good") + string(b"a", length)
        entry = Entry(b"k", KINDS["array"], elements, KINDS["string"], 2)
        yield entry_case(f"string_length_{name}_in_array", entry, *fragments)
    elements = string(b"good") + string(b"good", 5)
    entry = Entry(b"k", KINDS["array"], elements, KINDS["string"], 2)
    yield entry_case("string_one_byte_past_the_end", entry, 'key "k": string length is 5', "at most 4")


def alignments() -> Iterator[Case]:
    for value in (0, 1, 2, 4, 7, 12, 24, 33, 48, 2**22, 2**31, 2**32 - 1):
        entry = scalar("general.alignment", "u32", value)
        fragments = (f'key "general.alignment": value is {value}', "a power of two, 8 to 2097152")
        yield entry_case(f"alignment_{value}", entry, *fragments)
    for kind in NUMBERS:
        if kind == "u32":
            continue
        entry = scalar("general.alignment", kind, 1)
        yield entry_case(f"alignment_{kind}", entry, f'key "general.alignment": kind is {kind}', "u32")
    entry = scalar("general.alignment", "string", b"32")
    yield entry_case("alignment_string", entry, 'key "general.alignment": kind is string', "u32")
    entry = array("general.alignment", "u32", [32])
    yield entry_case("alignment_array", entry, 'key "general.alignment": kind is array of 1 u32', "u32")


def tensor_names() -> Iterator[Case]:
    for name, text in NOT_UTF8.items():
        yield tensor_case(f"tensor_name_{name}", Tensor(text), "tensor entry 0: name is", "UTF-8")
    for size in (0, 65, 1000):
        fragments = (f"tensor entry 0: name length is {size}", "1 to 64")
        yield tensor_case(f"tensor_name_of_{size}_bytes", Tensor(b"n" * size), *fragments)
    for name, length in HUGE.items():
        fragments = (f"tensor entry 0: name length is {length}", "at most")
        yield tensor_case(f"tensor_name_length_{name}", Tensor(b"n", name_length=length), *fragments)
    file = File([], [Tensor(b"w"), Tensor(b"v", offset=32), Tensor(b"w", offset=64)], bytes(96))
    yield case("tensor_twice", file.build(), 'tensor "w": name is there twice')


def tensor_shapes() -> Iterator[Case]:
    for count in (0, 5, 6, 255, 2**31, 2**32 - 1):
        fragments = (f'tensor "w": dimension count is {count}', "1 to 4")
        yield tensor_case(f"dimension_count_{count}", Tensor(b"w", (8,), n_dims=count), *fragments)
    for d in range(4):
        for name, value in {"0": 0, "2^63": 2**63, "2^64-1": 2**64 - 1}.items():
            dims = [8, 1, 1, 1]
            dims[d] = value
            fragments = (f'tensor "w": dimension {d} is {value}', "1 to 2^63 - 1")
            yield tensor_case(f"dimension_{d}_{name}", Tensor(b"w", dims), *fragments)
    for name, dims in {
        "2^32x2^32": (2**32, 2**32),
        "2^62x4": (2**62, 4),
        "2^63-1": (2**63 - 1,),
        "four_of_2^16": (2**16,) * 4,
        "2^62x1x1x2^62": (2**62, 1, 1, 2**62),
    }.items():
        yield tensor_case(f"size_overflows_{name}", Tensor(b"w", dims), 'tensor "w": size is 2^63 bytes or more')
    for dims in ((1000,), (8, 100), (8, 10, 10), (2, 2, 2, 1000), (2**40,), (2**31, 2**20)):
        file = with_tensor(Tensor(b"w", dims), bytes(64)).build()
        yield case(f"size_{dims}", file, *incomplete(len(file), len(file) - 64 + 4 * math.prod(dims)))
    shift = {"2^61-1": 2**61 - 1, "2^61-9": 2**61 - 9}
    for name, dim in shift.items():
        yield tensor_case(
            f"size_and_place_{name}", Tensor(b"w", (dim,)), 'tensor "w": offset is 0 of', "a file can hold"
        )
    for type_id, block in BLOCKS.items():
        for dim in (1, block - 1, block + 1):
            fragments = (f'tensor "w": dimension 0 is {dim}', f"a multiple of {block}, the block of")
            yield tensor_case(f"type_{type_id}_row_of_{dim}", Tensor(b"w", (dim, block), type_id), *fragments)
    for type_id in (43, 100, 2**31, 2**32 - 1):
        fragments = (f'tensor "w": type is {type_id}', "known ggml type")
        yield tensor_case(f"type_{type_id}", Tensor(b"w", (8,), type_id), *fragments, error=UnsupportedError)


def tensor_places() -> Iterator[Case]:
    for offset, alignment in ((1, 32), (8, 32), (31, 32), (33, 32), (32, 64), (4, 8), (2**63 + 1, 32)):
        file = with_tensor(Tensor(b"w", offset=offset), bytes(256), alignment)
        fragments = (f'tensor "w": offset is {offset}', f"a multiple of the alignment, {alignment}")
        yield case(f"offset_{offset}_aligned_{alignment}", file.build(), *fragments)
    for offset in (64, 96, 2**20, 2**62):
        file = with_tensor(Tensor(b"w", offset=offset), bytes(64)).build()
        yield case(f"offset_{offset}", file, *incomplete(len(file), len(file) - 64 + offset + 32))
    for offset in (2**63 - 32, 2**63, 2**64 - 32):
        fragments = (f'tensor "w": offset is {offset} of 32 bytes', "a file can hold")
        yield tensor_case(f"offset_{offset}", Tensor(b"w", offset=offset), *fragments)
    for size in (0, 1, 31):
        file = with_tensor(Tensor(b"w"), bytes(size)).build()
        yield case(f"data_of_{size}_bytes", file, *incomplete(len(file), -(-(len(file) - size) // 32) * 32 + 32))
    for name, first, second in (
        ("same_place", Tensor(b"a"), Tensor(b"b")),
        ("tail", Tensor(b"a", (16,)), Tensor(b"b", (8,), offset=32)),
        ("tail_in_reverse", Tensor(b"b", (8,), offset=32), Tensor(b"a", (16,))),
        ("contained", Tensor(b"a", (48,)), Tensor(b"b", (8,), offset=64)),
        ("by_one_value", Tensor(b"a", (9,)), Tensor(b"b", (8,), offset=32)),
    ):
        data = File([], [first, second], bytes(192)).build()
        yield case(f"overlap_{name}", data, "tensor ", ": offset is", "outside tensor ")
    many = [Tensor(f"t{i}".encode(), offset=32 * i) for i in range(64)] + [Tensor(b"last", offset=32 * 40)]
    yield case("overlap_among_many", File([], many, bytes(32 * 64)).build(), ": offset is 1280", "outside tensor ")
    tensor = Tensor(b"w", (4, 2, 2, 2))
    yield from cut_in_fields("tensor", with_tensor(tensor, b""), first=10)


def split_part(index: int | None, count: int | None, tensors: int | None, part: Tensor, *extra: Entry) -> bytes:
    """One file of a split checkpoint; None leaves a key out."""
    values = {"split.no": index, "split.count": count, "split.tensors.count": tensors}
    entries = [scalar(key, "u16", value) for key, value in values.items() if value is not None]
    return File([*entries, *extra], [part], bytes(32)).build()


def splits() -> Iterator[Case]:
    first, second = "m-00001-of-00002.gguf", "m-00002-of-00002.gguf"
    a, b = Tensor(b"a"), Tensor(b"b")
    good = {first: split_part(0, 2, 2, a), second: split_part(1, 2, 2, b)}

    def split_case(
        name: str, changed: dict[str, bytes], *fragments: str, error: type[LaneError] = CheckpointError
    ) -> Case:
        return Case(f"split_{name}", {**good, **changed}, error, fragments)

    yield Case("split_part_missing", {first: good[first]}, CheckpointError, (second, "cannot be opened"))
    fragments = (second, "part 2 of 2", first, "which opens all")
    yield Case("split_second_opened", {second: good[second], first: good[first]}, UsageError, fragments)
    yield split_case("part_empty", {second: b""}, second, "header: magic")
    yield split_case("part_truncated", {second: good[second][:-1]}, second, "the file is incomplete")
    yield split_case(
        "part_big_endian",
        {second: File(version=3 << 24).build()},
        second,
        "big-endian",
        error=UnsupportedError,
    )
    yield split_case("tensor_in_both", {second: split_part(1, 2, 2, a)}, second, 'tensor "a": name is there twice')
    for key, index, count, tensors in (
        ("split.no", 0, 2, 2),
        ("split.no", None, 2, 2),
        ("split.count", 1, 3, 2),
        ("split.count", 1, None, 2),
        ("split.tensors.count", 1, 2, 1),
        ("split.tensors.count", 1, 2, 3),
        ("split.tensors.count", 1, 2, None),
    ):
        changed = {second: split_part(index, count, tensors, b)}
        yield split_case(f"second_{key}_{index}_{count}_{tensors}", changed, second, f'key "{key}": value is')
    for tensors in (None, 0, 1, 3, 65535):
        changed = {first: split_part(0, 2, tensors, a)}
        yield split_case(f"tensors_count_{tensors}", changed, first, 'key "split.tensors.count": value is')
    for count in (3, 4, 65535):
        changed = {first: split_part(0, count, 2, a)}
        yield split_case(f"count_{count}", changed, first, 'key "split.count": file\'s name is', f"of-{count:05}.gguf")
    for count in (None, 0, 1):
        changed = {first: split_part(0, count, 2, a)}
        yield split_case(f"count_{count}_in_a_part", changed, first, 'key "split.count"', "one of a whole checkpoint")
    yield split_case(
        "no_2_of_2",
        {first: split_part(2, 2, 2, a)},
        first,
        'key "split.no": value is 2',
        "below split.count, 2",
    )
    yield split_case(
        "no_1_in_the_first",
        {first: split_part(1, 2, 2, a)},
        first,
        'key "split.no": value is 1',
        "allowed: 0",
    )
    for key in ("split.no", "split.count", "split.tensors.count"):
        numbers = {"split.no": 0, "split.count": 2, "split.tensors.count": 2}
        for kind, value in (("i32", -1), ("f32", 1), ("bool", 1), ("string", b"1")):
            entries = [scalar(key, kind, value)]
            entries += [scalar(other, "u16", numbers[other]) for other in numbers if other != key]
            changed = {first: File(entries, [a], bytes(32)).build()}
            yield split_case(f"{key}_{kind}", changed, first, f'key "{key}": value is', "a whole number from 0")
    fragments = ("part 2 of 2", '"NAME-00001-of-00002.gguf", which opens all')
    yield Case("split_second_renamed", {"renamed.gguf": good[second], first: good[first]}, UsageError, fragments)
    renamed = {"renamed.gguf": split_part(0, 2, 2, a), second: good[second]}
    yield Case("split_renamed", renamed, CheckpointError, ("file's name is", "NAME-00001-of-00002.gguf"))
    for name in (
        "m-1-of-2.gguf",
        "m-00000-of-00002.gguf",
        "m-00003-of-00002.gguf",
        "m-00001-of-00002.bin",
        "m-0000x-of-00002.gguf",
    ):
        yield Case(
            f"split_named_{name}",
            {name: good[first]},
            CheckpointError,
            ("file's name is", "NAME-00001-of-00002.gguf"),
        )
    other = scalar("general.name", "string", b"other")
    yield split_case(
        "later_part_says_more",
        {second: split_part(1, 2, 2, b, other)},
        second,
        'key "general.name": value is missing',
    )
    changed = {
        first: split_part(0, 2, 2, a, scalar("general.name", "string", b"one")),
        second: split_part(1, 2, 2, b, other),
    }
    yield split_case("later_part_says_another", changed, second, 'key "general.name": value is another')


GROUPS = (header, keys, values, alignments, tensor_names, tensor_shapes, tensor_places, splits)


def cases() -> Iterator[Case]:
    for group in GROUPS:
        yield from group()
