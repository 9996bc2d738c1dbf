"""Good checkpoints, written and read back by gguf-py: the reader says the same of each as gguf-py's does."""

import hashlib
import os
import time
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lane import _core
from lane.checkpoint.gguf import Checkpoint, Metadata
from lane.errors import CheckpointError, UsageError
from tests.py.checkpoint.raw_gguf import NUMBERS, File, Tensor, array, scalar

TYPES = tuple(gguf.GGML_QUANT_SIZES)
INTEGER_RANGES = {
    "uint8": (0, 2**8 - 1),
    "int8": (-(2**7), 2**7 - 1),
    "uint16": (0, 2**16 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint32": (0, 2**32 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint64": (0, 2**64 - 1),
    "int64": (-(2**63), 2**63 - 1),
}


def write(path: Path, writer: gguf.GGUFWriter) -> Path:
    writer.write_header_to_file(path)
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def add_tensor(writer: gguf.GGUFWriter, name: str, shape: tuple[int, ...], type_id: int, data: np.ndarray) -> None:
    """`shape` has the innermost dimension last, as numpy's, which is how gguf-py wants it."""
    block_elems, block_bytes = gguf.GGML_QUANT_SIZES[type_id]
    row_bytes = shape[-1] // block_elems * block_bytes
    writer.add_tensor(name, data.reshape(*shape[:-1], row_bytes), raw_dtype=type_id)


def random_bytes(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, count, np.uint8)


def assert_same(path: Path) -> None:
    """Everything in the file, by this reader and by gguf-py's."""
    checkpoint, reader = Checkpoint.open(path), gguf.GGUFReader(path)
    fields = {name: field for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    assert list(checkpoint.metadata) == list(fields)
    for key, field in fields.items():
        value, expected = checkpoint.metadata[key], field.contents()
        if isinstance(value, np.ndarray):
            expected = np.asarray(expected, value.dtype)
            assert value.tobytes() == expected.tobytes(), key
        elif isinstance(value, float):
            assert np.float64(value).tobytes() == np.float64(expected).tobytes(), key
        else:
            assert type(value) is type(expected) and value == expected, key
    assert list(checkpoint.tensors) == [tensor.name for tensor in reader.tensors]
    data_start = reader.data_offset
    for tensor in reader.tensors:
        info = checkpoint.tensors[tensor.name]
        assert info.shape == tuple(int(dim) for dim in tensor.shape)
        assert info.type == tensor.tensor_type.name
        assert info.bytes == tensor.n_bytes
        assert info.offset == tensor.data_offset - data_start
        assert checkpoint.data(tensor.name).tobytes() == tensor.data.tobytes()


REMOVED = {
    4: "Q4_2",
    5: "Q4_3",
    31: "Q4_0_4_4",
    32: "Q4_0_4_8",
    33: "Q4_0_8_8",
    36: "IQ4_NL_4_4",
    37: "IQ4_NL_4_8",
    38: "IQ4_NL_8_8",
}


@pytest.mark.parametrize("type_id", REMOVED)
def test_a_type_that_was_removed_opens_and_is_named(type_id: int, tmp_path: Path) -> None:
    path = tmp_path / "old.gguf"
    path.write_bytes(File([], [Tensor(b"w", (64, 2), type_id)], bytes(128)).build())
    info = Checkpoint.open(path).tensors["w"]
    assert info.type == REMOVED[type_id]
    assert info.bytes == 128 * {4: 10 / 16, 5: 12 / 16}.get(type_id, 18 / 32)


def test_what_is_open_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a relative path, from another folder, after the file's name is gone: nothing looks it up again."""
    monkeypatch.chdir(tmp_path)
    data = File([], [Tensor(b"w")], bytes(range(32))).build()
    Path("m.gguf").write_bytes(data)
    checkpoint = Checkpoint.open("m.gguf")
    Path("m.gguf").unlink()
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert checkpoint.bytes == len(data)
    assert checkpoint.data("w").tobytes() == bytes(range(32))
    assert checkpoint.identity().part_bytes == (len(data),)
    checkpoint.prefetch()


def test_types_are_those_of_gguf() -> None:
    ours = {type_id: (name, elems, size) for type_id, name, elems, size in _core.ggml_types()}
    theirs = {int(t): (t.name, *gguf.GGML_QUANT_SIZES[t]) for t in gguf.GGMLQuantizationType}
    assert len(_core.ggml_types()) == len(ours)
    assert {type_id: ours.get(type_id) for type_id in theirs} == theirs
    # ggml is ahead of its Python package by this one.
    assert {ours[type_id][0] for type_id in ours.keys() - theirs.keys()} <= {"Q2_0"}


@pytest.mark.parametrize("type_id", TYPES, ids=[t.name for t in TYPES])
def test_tensors_of_every_type(type_id: gguf.GGMLQuantizationType, tmp_path: Path) -> None:
    block_elems, block_bytes = gguf.GGML_QUANT_SIZES[type_id]
    writer = gguf.GGUFWriter(None, "test")
    for i, shape in enumerate([(3,), (5, 2), (2, 3, 4), (2, 1, 3, 1)]):
        blocks = int(np.prod(shape))
        data = random_bytes(i, blocks * block_bytes)
        add_tensor(writer, f"tensor.{i}", (*shape[:-1], shape[-1] * block_elems), type_id, data)
    assert_same(write(tmp_path / "model.gguf", writer))


@pytest.mark.parametrize("alignment", [8, 32, 64, 4096, 2**21])
def test_alignment(alignment: int, tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(None, "test")
    writer.add_custom_alignment(alignment)
    for i in range(3):
        add_tensor(writer, f"tensor.{i}", (5,), gguf.GGMLQuantizationType.I8, random_bytes(i, 5))
    path = write(tmp_path / "model.gguf", writer)
    assert_same(path)
    checkpoint = Checkpoint.open(path)
    assert [info.offset for info in checkpoint.tensors.values()] == [0, alignment, 2 * alignment]


@pytest.mark.parametrize("version", [2, 3])
def test_versions(version: int, tmp_path: Path) -> None:
    entries = [scalar(f"{kind}.one", kind, 1) for kind in NUMBERS] + [array("a", "string", [b"x", b""])]
    path = tmp_path / "model.gguf"
    path.write_bytes(File(entries, [Tensor(b"w", (8,))], bytes(range(32)), version=version).build())
    assert_same(path)
    assert Checkpoint.open(path).version == version


def test_arrays_of_every_kind_and_none_of_their_elements(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    entries = [array(f"{kind}.{n}", kind, [1] * n) for kind in NUMBERS for n in (0, 1, 3)]
    entries += [array(f"string.{n}", "string", [b"x"] * n) for n in (0, 1, 3)]
    path.write_bytes(File(entries).build())
    metadata = Checkpoint.open(path).metadata
    for kind in NUMBERS:
        for n in (0, 1, 3):
            values = metadata[f"{kind}.{n}"]
            assert isinstance(values, np.ndarray) and values.tolist() == [1] * n
            assert metadata.kind(f"{kind}.{n}") == (kind, n)
    assert [metadata[f"string.{n}"] for n in (0, 1, 3)] == [[], ["x"], ["x"] * 3]


def numbers_and_arrays() -> st.SearchStrategy[tuple[str, object]]:
    """A method of the writer, and a value for it."""
    singles = [
        st.tuples(st.just(f"add_{kind}"), st.integers(low, high)) for kind, (low, high) in INTEGER_RANGES.items()
    ]
    singles.append(st.tuples(st.just("add_float32"), st.floats(width=32)))
    singles.append(st.tuples(st.just("add_float64"), st.floats()))
    singles.append(st.tuples(st.just("add_bool"), st.booleans()))
    texts = st.text(st.characters(exclude_categories=["Cs"]))
    singles.append(st.tuples(st.just("add_string"), texts.filter(bool)))
    elements = [st.integers(-(2**31), 2**31 - 1), st.floats(width=32), st.booleans(), texts]
    arrays = [st.tuples(st.just("add_array"), st.lists(of, min_size=1, max_size=9)) for of in elements]
    return st.one_of(*singles, *arrays)


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(numbers_and_arrays(), max_size=12),
    shapes=st.lists(st.tuples(st.sampled_from(TYPES), st.lists(st.integers(1, 4), min_size=1, max_size=4)), max_size=5),
    seed=st.integers(0, 2**32),
)
def test_whatever_gguf_writes(
    values: list[tuple[str, object]],
    shapes: list[tuple[gguf.GGMLQuantizationType, list[int]]],
    seed: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    writer = gguf.GGUFWriter(None, "test")
    for i, (method, value) in enumerate(values):
        getattr(writer, method)(f"key.{i}", value)
    for i, (type_id, shape) in enumerate(shapes):
        block_elems, block_bytes = gguf.GGML_QUANT_SIZES[type_id]
        data = random_bytes(seed + i, int(np.prod(shape)) * block_bytes)
        add_tensor(writer, f"tensor.{i}", (*shape[:-1], shape[-1] * block_elems), type_id, data)
    assert_same(write(tmp_path_factory.mktemp("written") / "model.gguf", writer))


def small(path: Path) -> Path:
    writer = gguf.GGUFWriter(None, "test")
    add_tensor(writer, "w", (4,), gguf.GGMLQuantizationType.F32, random_bytes(1, 16))
    return write(path, writer)


def test_data_is_a_view_that_keeps_the_file_open(tmp_path: Path) -> None:
    path = small(tmp_path / "model.gguf")
    checkpoint = Checkpoint.open(path)
    view, again = checkpoint.data("w"), checkpoint.data("w")
    assert view.dtype == np.uint8 and view.ctypes.data == again.ctypes.data
    assert not view.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    path.unlink()
    del checkpoint, again
    assert view.tobytes() == random_bytes(1, 16).tobytes()


def test_a_missing_tensor_or_key(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(small(tmp_path / "model.gguf"))
    with pytest.raises(CheckpointError, match='tensor "v" is missing'):
        checkpoint.data("v")
    with pytest.raises(KeyError):
        checkpoint.metadata["no.key"]
    assert "no.key" not in checkpoint.metadata and "general.architecture" in checkpoint.metadata
    assert len(checkpoint.metadata) == 1 and checkpoint.architecture == "test"


def test_identity(tmp_path: Path) -> None:
    path = small(tmp_path / "model.gguf")
    whole = path.read_bytes()
    checkpoint = Checkpoint.open(path)
    [data_offset] = checkpoint.file.data_offsets
    assert data_offset == gguf.GGUFReader(path).data_offset
    assert checkpoint.identity() == ((len(whole),), hashlib.sha256(whole[:data_offset]).hexdigest())
    # Weights are not part of it; all else is. (Other files: a mapping shows what is written to its own.)
    other = tmp_path / "other.gguf"
    other.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert Checkpoint.open(other).identity() == checkpoint.identity()
    another = tmp_path / "another.gguf"
    another.write_bytes(whole.replace(b"test", b"text"))
    assert Checkpoint.open(another).identity().head_sha256 != checkpoint.identity().head_sha256


def test_prefetch_changes_nothing(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(small(tmp_path / "model.gguf"))
    checkpoint.prefetch()
    assert checkpoint.data("w").tobytes() == random_bytes(1, 16).tobytes()


def test_paths_of_any_bytes(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b'/m\xff\xe2\x82\xac ".gguf'))
    small(path)
    checkpoint = Checkpoint.open(path)
    assert checkpoint.path == path and checkpoint.parts == (path,)
    path.write_bytes(b"junk")
    with pytest.raises(CheckpointError, match=r'm\\xff\u20ac \\"\.gguf": header: magic is "junk"'):
        Checkpoint.open(path)


def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    for name, reason in {
        "missing": "No such file",
        "loop": "symbolic links",
        "pipe": "not a regular file",
        ".": "is a directory",
        "zero\0byte": "zero byte",
    }.items():
        with pytest.raises(UsageError, match=reason):
            Checkpoint.open(tmp_path / name)


def test_split_files_open_together(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "test", split_max_tensors=2)
    for i in range(5):
        add_tensor(writer, f"tensor.{i}", (4, 32), gguf.GGMLQuantizationType.Q8_0, random_bytes(i, 4 * 34))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    paths = [tmp_path / f"model-0000{i}-of-00003.gguf" for i in (1, 2, 3)]

    checkpoint = Checkpoint.open(paths[0])
    assert checkpoint.parts == tuple(paths)
    assert checkpoint.architecture == "test"
    assert [info.part for info in checkpoint.tensors.values()] == [0, 0, 1, 1, 2]
    for i in range(5):
        assert checkpoint.data(f"tensor.{i}").tobytes() == random_bytes(i, 4 * 34).tobytes()
    heads = b"".join(
        path.read_bytes()[:offset] for path, offset in zip(paths, checkpoint.file.data_offsets, strict=True)
    )
    sizes = tuple(path.stat().st_size for path in paths)
    assert checkpoint.identity() == (sizes, hashlib.sha256(heads).hexdigest())
    for later in paths[1:]:
        with pytest.raises(UsageError, match=r"model-00001-of-00003\.gguf"):
            Checkpoint.open(later)


def test_a_later_part_may_repeat_the_first_and_be_aligned_on_its_own(tmp_path: Path) -> None:
    name, other = scalar("general.name", "string", b"x"), scalar("general.alignment", "u32", 64)
    for i in range(2):
        values = {"split.no": i, "split.count": 2, "split.tensors.count": 2}
        entries = [scalar(key, "u16", value) for key, value in values.items()] + [name] + [other] * i
        data = File(entries, [Tensor(b"w%d" % i)], bytes([i] * 32), alignment=64 if i else 32).build()
        (tmp_path / f"m-0000{i + 1}-of-00002.gguf").write_bytes(data)
    checkpoint = Checkpoint.open(tmp_path / "m-00001-of-00002.gguf")
    assert [checkpoint.data(f"w{i}")[0] for i in range(2)] == [0, 1]


def test_a_part_of_one_is_whole(tmp_path: Path) -> None:
    path = small(tmp_path / "model-00001-of-00001.gguf")
    assert Checkpoint.open(path).parts == (path,)


def test_a_large_file_with_a_large_vocabulary_opens_at_once(tmp_path: Path) -> None:
    """A gigabyte and 262,144 tokens: within 0.1 s of processor time once the file is in memory."""
    tokens = [b"token %d" % i for i in range(262_144)]
    entries = [array("tokenizer.ggml.tokens", "string", tokens)]
    entries.append(array("tokenizer.ggml.scores", "f32", range(len(tokens))))
    path = tmp_path / "model.gguf"
    path.write_bytes(File(entries, [Tensor(b"w", (2**28,))], b"").build())
    head_bytes = path.stat().st_size
    os.truncate(path, head_bytes + 2**30 + 32)

    def seconds_to_open() -> float:
        start = time.process_time()
        Checkpoint.open(path)
        return time.process_time() - start

    assert min(seconds_to_open() for _ in range(5)) < 0.1
    checkpoint = Checkpoint.open(path)

    def seconds_to_read() -> float:
        start = time.process_time()
        checkpoint.string_table("tokenizer.ggml.tokens")
        return time.process_time() - start

    assert min(seconds_to_read() for _ in range(5)) < 0.05
    blob, offsets = checkpoint.string_table("tokenizer.ggml.tokens", len(tokens))
    assert blob == b"".join(tokens)
    assert [blob[offsets[i] : offsets[i + 1]] for i in (0, 1, 262_143)] == [tokens[0], tokens[1], tokens[-1]]
    assert checkpoint.strings("tokenizer.ggml.tokens")[262_143] == "token 262143"


class TestTypedValues:
    """u32, f32, bool_, str_, array, strings, string_table: what each takes, and how each refuses the rest."""

    @pytest.fixture
    def checkpoint(self, tmp_path: Path) -> Checkpoint:
        entries = [scalar(f"{kind}.one", kind, 1) for kind in NUMBERS]
        entries += [array(f"{kind}.array", kind, [0, 1, 1]) for kind in NUMBERS]
        entries += [
            scalar("i8.negative", "i8", -1),
            scalar("u64.large", "u64", 2**32),
            scalar("f32.nan", "f32", float("nan")),
            scalar("f64.infinite", "f64", float("inf")),
            scalar("string.one", "string", "gr\u00fcn".encode()),
            array("string.array", "string", [b"a", b"", "\u20ac".encode()]),
            array("u64.large_array", "u64", [1, 2**63]),
            array("i64.negative_array", "i64", [1, -(2**31) - 1]),
        ]
        path = tmp_path / "model.gguf"
        path.write_bytes(File(entries).build())
        return Checkpoint.open(path)

    @pytest.mark.parametrize("kind", ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"])
    def test_u32(self, checkpoint: Checkpoint, kind: str) -> None:
        assert checkpoint.u32(f"{kind}.one") == 1
        assert checkpoint.u32(f"{kind}.one", 7) == 1
        assert checkpoint.u32("absent", 7) == 7

    @pytest.mark.parametrize("kind", ["f32", "f64"])
    def test_f32(self, checkpoint: Checkpoint, kind: str) -> None:
        assert checkpoint.f32(f"{kind}.one") == 1.0
        assert checkpoint.f32("absent", 0.5) == 0.5

    def test_bool_and_str(self, checkpoint: Checkpoint) -> None:
        assert checkpoint.bool_("bool.one") is True
        assert checkpoint.bool_("absent", False) is False
        assert checkpoint.str_("string.one") == "gr\u00fcn"
        assert checkpoint.str_("absent", "") == ""

    def test_array(self, checkpoint: Checkpoint) -> None:
        for kind in ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"):
            assert checkpoint.array(f"{kind}.array", "u32").tolist() == [0, 1, 1]
            assert checkpoint.array(f"{kind}.array", "i32", 3).dtype == np.int32
        for kind in ("f32", "f64"):
            assert checkpoint.array(f"{kind}.array", "f32", 3).dtype == np.float32
        assert checkpoint.array("bool.array", "bool").tolist() == [False, True, True]

    def test_strings(self, checkpoint: Checkpoint) -> None:
        assert checkpoint.strings("string.array", 3) == ["a", "", "\u20ac"]
        blob, offsets = checkpoint.string_table("string.array", 3)
        assert (blob, offsets.tolist()) == ("a\u20ac".encode(), [0, 1, 1, 4])

    @pytest.mark.parametrize(
        ("ask", "message"),
        [
            (lambda c: c.u32("absent"), 'key "absent": value is missing; allowed: a whole number, 0 to 2^32 - 1'),
            (lambda c: c.u32("i8.negative"), 'key "i8.negative": value is i8 -1; allowed: a whole number'),
            (lambda c: c.u32("u64.large"), 'key "u64.large": value is u64 4294967296; allowed: a whole number'),
            (lambda c: c.u32("f32.one"), 'key "f32.one": value is a f32; allowed: a whole number'),
            (lambda c: c.u32("bool.one"), 'key "bool.one": value is a bool; allowed: a whole number'),
            (lambda c: c.u32("u32.array"), 'key "u32.array": value is an array of 3 u32; allowed: a whole number'),
            (lambda c: c.u32("string.one", 3), 'key "string.one": value is a string; allowed: a whole number'),
            (lambda c: c.f32("absent"), 'key "absent": value is missing; allowed: a finite f32 or f64'),
            (lambda c: c.f32("u32.one"), 'key "u32.one": value is a u32; allowed: a finite f32 or f64'),
            (lambda c: c.f32("f32.nan"), 'key "f32.nan": value is f32 nan; allowed: a finite f32 or f64'),
            (lambda c: c.f32("f64.infinite"), 'key "f64.infinite": value is f64 inf; allowed: a finite'),
            (lambda c: c.bool_("u8.one"), 'key "u8.one": value is a u8; allowed: a bool'),
            (lambda c: c.str_("u8.one"), 'key "u8.one": value is a u8; allowed: a string'),
            (lambda c: c.architecture, 'key "general.architecture": value is missing; allowed: a string'),
            (lambda c: c.array("absent", "u32"), 'key "absent": value is missing; allowed: an array of u32'),
            (lambda c: c.array("u32.one", "u32"), 'key "u32.one": value is a u32; allowed: an array of u32'),
            (lambda c: c.array("u32.array", "f32"), "value is an array of 3 u32; allowed: an array of f32"),
            (lambda c: c.array("f32.array", "u32"), "value is an array of 3 f32; allowed: an array of u32"),
            (lambda c: c.array("u32.array", "u32", 4), "value is an array of 3 u32; allowed: an array of 4 u32"),
            (lambda c: c.array("u64.large_array", "u32"), "an array that holds 9223372036854775808; allowed: el"),
            (lambda c: c.array("i64.negative_array", "i32"), "an array that holds -2147483649; allowed: elements"),
            (lambda c: c.strings("u32.array"), "value is an array of 3 u32; allowed: an array of string"),
            (lambda c: c.strings("string.one"), "value is a string; allowed: an array of string"),
            (lambda c: c.string_table("string.array", 2), "an array of 3 string; allowed: an array of 2 string"),
        ],
    )
    def test_refusals(self, checkpoint: Checkpoint, ask: object, message: str) -> None:
        assert callable(ask)
        with pytest.raises(CheckpointError) as refusal:
            ask(checkpoint)
        assert message in str(refusal.value)

    def test_metadata_is_a_mapping(self, checkpoint: Checkpoint) -> None:
        assert isinstance(checkpoint.metadata, Metadata)
        assert dict(checkpoint.metadata)["u32.one"] == 1
        assert checkpoint.metadata.get("absent") is None
        assert checkpoint.metadata.kind("u32.one") == ("u32", None)
