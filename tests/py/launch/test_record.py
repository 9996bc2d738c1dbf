"""Launch records: what Python encodes is what the generated header decodes; accesses; dump lines."""

from __future__ import annotations

import enum
import re
import struct
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import pytest

from lane.launch import attention, data, elementwise, norm, projection, spec, step
from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import BinaryOp, UnaryOp
from lane.launch.record import (
    Access,
    Dest,
    DestMode,
    Form,
    Launch,
    Memory,
    Mode,
    Part,
    Read,
    Touch,
    Write,
    WriteTo,
    field_specs,
    word_kinds,
)
from lane.launch.registry import KIND_NUMBER, KINDS

SAMPLES: tuple[Launch, ...] = (
    data.Gather("table", "index", "out", rows=3, cols=64, scale=11.3125),
    data.View("src", "out", offset=96, n=32),
    norm.Norm("x", "w", None, "out", rows=3, cols=64, eps=1e-6, centre=True),
    projection.Quant("x", "x", n=192),
    projection.Gemv("x", "w", "y", k=64, n=48, m=3, quant=True),
    elementwise.Binary(BinaryOp.MUL, "a", "b", "out", n=192, cols=64, row=True),
    elementwise.Scale("x", "y", n=192, c=-0.25),
    elementwise.Unary(UnaryOp.SOFT_CAP, "x", "y", n=192, c=30.0),
    elementwise.SwiGlu("gate", "up", "y", n=192),
    attention.Rope("x", "cos", "sin", "pos", "y", 12, per_row=4, hd=16, half=6, layout=RopeLayout.INTERLEAVED),
    data.SetRow("table", "index", "src", cols=64, count=3),
    attention.Attention("q", "kc", "vc", "pos", None, "out", 3, 4, 2, 16, 8, 100, scale=0.25, window=32, cap=50.0),
    step.ArgMax("x", "token", "pos", n=512, rows=3, advance=3),
    data.Slice("x", "y", groups=4, every=48, start=16, width=32),
)


@dataclass(frozen=True)
class Landing(Launch):
    """A kind with the field types that no kind of the registry has yet."""

    kind: ClassVar[str] = "landing"

    x: Read
    part: Part | None
    table: Touch
    out: WriteTo
    last: int

    def compute(self, memory: Memory) -> None:
        """Its fields are what is tested."""

    def operations(self) -> int:
        return 0


def tensor_names(launch: Launch) -> list[str]:
    found: list[str] = []
    for field in field_specs(type(launch)):
        value = getattr(launch, field.name)
        if field.type is str and value is not None:
            found.append(value)
        if isinstance(value, Dest):
            found += [value.buffer] + ([value.index] if value.index else [])
    return list(dict.fromkeys(found))


def decoded(launch: Launch, header: str) -> dict[str, Any]:
    """A launch's fields out of its words, read at the places and in the ways that the header's struct says."""
    names = tensor_names(launch)
    words = launch.encode(names.index)
    body = re.search(rf"struct {type(launch).__name__} \{{(.*?)\n\}};", header, re.S)
    assert body is not None
    size = re.search(r"kWords = (\d+)", body[1])
    assert size is not None and int(size[1]) == len(words)
    types = {name: c_type for c_type, name in re.findall(r"^  (\S+) (\w+);$", body[1], re.M)}
    found: dict[str, Any] = {}
    for name, expression in re.findall(r"\.(\w+) = (.*?),\n", body[1]):
        place = re.search(r"w(?:\[| \+ )(\d+)", expression)
        assert place is not None
        found[name] = read_word(types[name], words, int(place[1]), names)
    return found


def read_word(c_type: str, words: list[int], at: int, names: list[str]) -> Any:
    def ref(word: int) -> str | None:
        return None if word == -1 else names[word]

    if c_type == "Ref":
        return ref(words[at])
    if c_type == "double":
        return struct.unpack("<d", struct.pack("<q", words[at]))[0]
    if c_type == "bool":
        return words[at] != 0
    if c_type == "Part":
        return (words[at], words[at + 1])
    if c_type == "Dest":
        mode = list(DestMode)[words[at + 1]]
        return (ref(words[at]), mode, ref(words[at + 2]), *words[at + 3 : at + 6])
    return words[at]  # std::int64_t, and enumerations by their ordinal


def plain_value(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return list(type(value)).index(value)
    if isinstance(value, Part):
        return (value.pitch, value.offset)
    if isinstance(value, Dest):
        return (value.buffer, value.mode, value.index, value.row, value.pitch, value.offset)
    return value


def test_every_kind_has_a_sample() -> None:
    assert {type(launch) for launch in SAMPLES} == set(KINDS)
    assert [KIND_NUMBER[kind] for kind in KINDS] == list(range(len(KINDS)))
    assert len({kind.kind for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize("launch", SAMPLES, ids=lambda launch: launch.kind)
def test_the_header_decodes_what_python_encodes(launch: Launch) -> None:
    found = decoded(launch, spec.header())
    assert found == {f.name: plain_value(getattr(launch, f.name)) for f in fields(launch)}


@pytest.mark.parametrize(
    "launch",
    [
        Landing("x", Part(64, 16), "table", Dest("out", DestMode.PART, pitch=96, offset=32), 7),
        Landing("x", None, "table", Dest("out", DestMode.ROWS, index="pos", pitch=64), 7),
        Landing("x", None, "table", Dest("out", DestMode.ROWS, row=5, pitch=64), 7),
    ],
    ids=["part", "rows at a parameter", "rows at a fixed row"],
)
def test_parts_and_destinations(launch: Landing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec, "KINDS", (*KINDS, Landing))
    found = decoded(launch, spec.header())
    wanted = {f.name: plain_value(getattr(launch, f.name)) for f in fields(launch)}
    assert found == wanted | ({"part": (0, 0)} if launch.part is None else {})


def test_word_counts() -> None:
    for launch in SAMPLES:
        counted = sum(len(word_kinds(field)) for field in field_specs(type(launch)))
        assert counted == len(launch.encode(tensor_names(launch).index))


def read(name: str, form: Form = Form.PLAIN, mode: Mode = Mode.READ) -> Access:
    return Access(name, form, mode)


def write(name: str, form: Form = Form.PLAIN, mode: Mode = Mode.WRITE) -> Access:
    return Access(name, form, mode)


ACCESSES: dict[type[Launch], list[Access]] = {
    data.Gather: [read("table", Form.MATRIX), read("index"), write("out")],
    data.View: [read("src"), write("out")],
    norm.Norm: [read("x"), read("w"), write("out")],
    projection.Quant: [read("x"), write("x", Form.QUANT)],
    projection.Gemv: [read("x", Form.QUANT), read("w", Form.MATRIX), write("y")],
    elementwise.Binary: [read("a"), read("b"), write("out")],
    elementwise.Scale: [read("x"), write("y")],
    elementwise.Unary: [read("x"), write("y")],
    elementwise.SwiGlu: [read("gate"), read("up"), write("y")],
    attention.Rope: [
        read("x"),
        read("cos", mode=Mode.READ_ROWS),
        read("sin", mode=Mode.READ_ROWS),
        read("pos"),
        write("y"),
    ],
    data.SetRow: [read("index"), read("src"), write("table", mode=Mode.UPDATE)],
    attention.Attention: [read("q"), read("kc"), read("vc"), read("pos"), write("out")],
    step.ArgMax: [read("x"), write("token", mode=Mode.UPDATE), write("pos", mode=Mode.UPDATE)],
    data.Slice: [read("x"), write("y")],
}


@pytest.mark.parametrize("launch", SAMPLES, ids=lambda launch: launch.kind)
def test_accesses(launch: Launch) -> None:
    assert list(launch.accesses()) == ACCESSES[type(launch)]


def test_accesses_of_destinations() -> None:
    part = Landing("x", None, "table", Dest("out", DestMode.PART, pitch=96, offset=32), 7)
    assert list(part.accesses()) == [
        read("x"),
        write("table", mode=Mode.UPDATE),
        write("out", mode=Mode.WRITE_PART),
    ]
    rows = Landing("x", None, "table", Dest("out", DestMode.ROWS, index="pos", pitch=64), 7)
    assert list(rows.accesses()) == [
        read("x"),
        read("pos"),
        write("table", mode=Mode.UPDATE),
        write("out", mode=Mode.WRITE_ROWS),
    ]


def test_a_projection_of_floats_reads_plain() -> None:
    launch = projection.Gemv("x", "w", "y", 64, 48, 3, quant=False)
    assert next(launch.accesses()) == read("x")


def test_sinks_are_read() -> None:
    launch = attention.Attention("q", "kc", "vc", "pos", "sinks", "out", 3, 4, 2, 16, 8, 100, 0.25)
    assert read("sinks") in launch.accesses()


def test_dump_lines_show_every_field_but_absent_and_false_ones() -> None:
    lines = {launch.kind: str(launch) for launch in SAMPLES}
    assert lines["gemv"] == "gemv x=x w=w y=y k=64 n=48 m=3 quant"
    assert lines["norm"] == "norm x=x w=w out=out rows=3 cols=64 eps=1e-06 centre"
    assert lines["binary"] == "binary op=mul a=a b=b out=out n=192 cols=64 row"
    rows = Landing("x", Part(64, 16), "table", Dest("out", DestMode.ROWS, index="pos", pitch=64), 7)
    assert str(rows) == "landing x=x part=[*64+16] table=table out=out[pos:, 64] last=7"


@dataclass(frozen=True)
class Plain(Launch):
    """A kind that lacks what every kind must define."""

    kind: ClassVar[str] = "plain"

    x: Read
    y: Write


def test_a_kind_must_define_its_meaning_and_its_operations() -> None:
    with pytest.raises(TypeError, match="Plain with abstract methods compute, operations"):
        Plain("x", "y")  # type: ignore[abstract]


@pytest.mark.parametrize("launch", SAMPLES, ids=lambda launch: launch.kind)
def test_operations_are_counted(launch: Launch) -> None:
    moves = (data.View, data.SetRow, data.Slice)
    assert launch.operations() == 0 if isinstance(launch, moves) else launch.operations() > 0
