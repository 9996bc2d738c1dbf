"""Launch records: what Python encodes is what the generated header decodes; accesses; dump lines."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import pytest

from lane.launch import attention, data, elementwise, fold, norm, projection, spec, step
from lane.launch.fields import (
    HALVES,
    Access,
    DestMode,
    Mode,
    QuantStore,
    Read,
    Region,
    RowsAt,
    RowsSeen,
    Storage,
    Touch,
    Write,
)
from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import BinaryOp, UnaryOp
from lane.launch.record import Dest, Launch, Memory, Part, Record, WriteTo, field_specs
from lane.launch.registry import KIND_NUMBER, KINDS
from lane.launch.table import Elem
from tests.py.launch.records_of_header import RecordReader
from tests.py.support.launches import every_launch

CACHE_ROWS = Dest("cache", DestMode.ROWS, index="pos", pitch=96, offset=32)
SIDES = (
    attention.RopeSide("q", Dest("turned"), 12, 4, Part(32, 16), norm="qn"),
    attention.RopeSide("k", CACHE_ROWS, 3, 1),
)
PARTS = (
    projection.GemmPart("wq", Dest("q"), 48, bias="bq"),
    projection.GemmPart("wv", Dest("cache", DestMode.ROWS, index="pos", pitch=16), 16),
)
PLAIN_GEMV = projection.Gemv("x", "w", Dest("y"), k=64, n=48, m=3, read_quant=True)
PLAIN_NORM = norm.Norm("x", "w", None, "out", rows=3, cols=64, eps=1e-6, centre=True)

# Launches as link and fusion make them; `every_launch` has one of each kind, whatever its values.
SAMPLES: tuple[Launch, ...] = (
    data.Gather("table", "index", "out", rows=3, cols=64, scale=11.3125),
    data.View("src", "out", offset=96, n=32),
    PLAIN_NORM,
    norm.Norm(
        "x", None, None, "out", 12, 16, 1e-6, False, Part(32, 16), "a", "pre", "sum", CACHE_ROWS, 4, QuantStore.ALONE
    ),
    projection.Quant("x", "x", n=192),
    PLAIN_GEMV,
    replace(PLAIN_GEMV, bias="b", store_quant=QuantStore.BESIDE, per_warp=4, tail=projection.Tail(7, 3), batch=True),
    elementwise.Binary(BinaryOp.MUL, "a", "b", "out", n=192, cols=64, row=True),
    elementwise.Binary(BinaryOp.MUL, "a", "b", "out", 192, 64, gate=UnaryOp.GELU, store_quant=QuantStore.ALONE),
    elementwise.Scale("x", "y", n=192, c=-0.25),
    elementwise.Unary(UnaryOp.SOFT_CAP, "x", "y", n=192, c=30.0),
    elementwise.SwiGlu("gate", "up", "y", n=192),
    attention.Rope("x", "cos", "sin", "pos", Dest("y"), 12, 4, 16, 6, RopeLayout.INTERLEAVED),
    attention.Rope("x", "cos", "sin", None, CACHE_ROWS, 12, 4, 16, 6, RopeLayout.SPLIT, Part(32, 0), "w", 1e-6, True),
    data.SetRow("table", "index", "src", cols=64, count=3),
    data.SetRow("table", None, "src", cols=64, count=3, row=5, store_quant=QuantStore.BESIDE),
    data.SetRow("table", "index", "src", cols=64, count=3, seq=6400),
    attention.Attention("q", "kc", "vc", "pos", None, "out", 3, 4, 2, 16, 8, 100, scale=0.25, window=32, cap=50.0),
    attention.Attention(
        *("q", "kc", "kc", "pos", "sinks", "out", 3, 4, 4, 16, 8, 100, 0.25, 0, 0.0, Part(24, 0), 48, 16),
        *(
            attention.SplitKeys("q", "kc", 8, 48, 40, Part(24, 16)),
            attention.OutputGate("g", UnaryOp.SIGMOID, Part(16, 8)),
        ),
        *(4800, QuantStore.BESIDE, 2, 4, True, 8),
    ),
    step.ArgMax("x", "token", "pos", n=512, rows=3, advance=3),
    step.ArgMax("x", "token", "pos", 512, 3, 1, step.Generated("run", "count"), batch=True),
    data.Slice("x", "y", groups=4, every=48, start=16, width=32),
    projection.GemvF32("x", "w", Dest("y"), k=64, n=48, m=3, bias="b", split=4),
    projection.GemmParts("x", 64, 3, PARTS, read_quant=True, per_warp=2, tail=projection.Tail(7, 3)),
    projection.GemvGlu("x", "wg", "wu", "out", 64, 48, 3, True, UnaryOp.GELU, "bg", "bu", QuantStore.ALONE),
    projection.HeadGemv("x", "w", Dest("y", DestMode.PART, pitch=96, offset=32), 3, 4, 16, 24, True, Part(64, 48)),
    projection.HeadGemv("x", "w", Dest("y"), 3, 4, 16, 24, shared=True, upto=projection.UpTo("pos", 3)),
    attention.RopeParts(SIDES, "cos", "sin", "pos", 16, 6, RopeLayout.SPLIT, 1e-6),
    data.Join("a", "b", CACHE_ROWS, rows=3, per_row=4, ha=16, hb=8),
    fold.Fold(PLAIN_GEMV, replace(PLAIN_NORM, x="y", rows=3, cols=48)),
    fold.Fold(
        projection.GemmParts("x", 64, 3, PARTS, True),
        attention.RopeParts(SIDES, "cos", "sin", "pos", 16, 6, RopeLayout.SPLIT),
    ),
)


@dataclass(frozen=True)
class Landing(Launch):
    """A kind whose destination and whose part may be missing."""

    kind: ClassVar[str] = "landing"

    x: Read
    part: Part | None
    table: Touch
    out: WriteTo
    last: int
    into: WriteTo | None = None

    def compute(self, memory: Memory) -> None:
        """Its fields are what is tested."""

    def operations(self, position: int | None = None) -> int:
        return 0


def tensor_names(record: Record) -> list[str]:
    """Every buffer that a record names, itself or in records that it holds."""

    def found(held: Record) -> Iterator[str]:
        for field in field_specs(type(held)):
            value = getattr(held, field.name)
            if field.is_record:
                for item in value if field.repeated else (value,):
                    if item is not None:
                        yield from found(item)
            elif field.type is str and value is not None:
                yield value

    return list(dict.fromkeys(found(record)))


def plain_value(value: Any) -> Any:
    """A field as the header's reader gives it."""
    if isinstance(value, enum.Enum):
        return list(type(value)).index(value)
    if isinstance(value, tuple):
        return [plain_value(item) for item in value]
    if isinstance(value, Record):
        named = {f.name: plain_value(getattr(value, f.name)) for f in fields(value)}
        return {"kind": type(value).__name__, **named} if isinstance(value, Launch) else named
    return value


def decoded(launch: Launch) -> dict[str, Any]:
    """A launch out of its words, every one of which the header takes."""
    names = tensor_names(launch)
    reader = RecordReader(spec.record_header(), launch.encode(names.index), names)
    found = reader.record(type(launch).__name__)
    assert reader.left == 0
    return {"kind": type(launch).__name__, **found}


def name_of(value: object) -> str:
    return value.kind if isinstance(value, Launch) else str(value)


def test_kinds_are_numbered_and_named_apart() -> None:
    assert [KIND_NUMBER[kind] for kind in KINDS] == list(range(len(KINDS)))
    assert len({kind.kind for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize("launch", [*SAMPLES, *every_launch()], ids=name_of)
def test_the_header_decodes_what_python_encodes(launch: Launch) -> None:
    assert decoded(launch) == plain_value(launch)


@pytest.mark.parametrize(
    "launch",
    [
        Landing("x", Part(64, 16), "table", Dest("out", DestMode.PART, pitch=96, offset=32), 7, Dest("other")),
        Landing("x", None, "table", Dest("out", DestMode.ROWS, index="pos", pitch=64), 7),
        Landing("x", None, "table", Dest("out", DestMode.ROWS, row=5, pitch=64, offset=8, every=16, seq=640), 7),
    ],
    ids=["part", "rows at a parameter", "parts of units in rows at a fixed row"],
)
def test_parts_and_destinations(launch: Landing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec, "KINDS", (*KINDS, Landing))
    assert decoded(launch) == plain_value(launch)


# --- accesses ---------------------------------------------------------------------------------------------------------

I32 = (Elem.I32,)
HALF = (Elem.F32, *HALVES)


def read(name: str, storage: Storage = Storage.PLAIN, **more: Any) -> Access:
    return Access(name, storage, Mode.READ, **more)


def write(name: str, storage: Storage = Storage.PLAIN, mode: Mode = Mode.WRITE, **more: Any) -> Access:
    return Access(name, storage, mode, **more)


POS = read("pos", extent=Region(0, 1), elems=I32)
DEST_POS = read("pos", elems=I32)  # that a destination names

ACCESSES: tuple[tuple[Launch, list[Access]], ...] = (
    (
        data.Gather("table", "index", "out", 3, 64),
        [
            read("table", Storage.MATRIX, extent=RowsAt(64, 3)),
            read("index", extent=Region(0, 3), elems=I32),
            write("out"),
        ],
    ),
    (
        data.View("src", "out", 96, 32),
        [read("src", extent=Region(96, 32), elems=tuple(Elem)), write("out", elems=tuple(Elem))],
    ),
    (PLAIN_NORM, [read("x"), read("w"), write("out")]),
    (projection.Quant("x", "x", 192), [read("x"), write("x", Storage.QUANT)]),
    (PLAIN_GEMV, [read("x", Storage.QUANT), read("w", Storage.MATRIX), write("y")]),
    (replace(PLAIN_GEMV, read_quant=False), [read("x"), read("w", Storage.MATRIX), write("y")]),
    (
        replace(PLAIN_GEMV, store_quant=QuantStore.BESIDE),
        [read("x", Storage.QUANT), read("w", Storage.MATRIX), write("y"), write("y", Storage.QUANT)],
    ),
    (elementwise.SwiGlu("g", "u", "y", 192), [read("g"), read("u"), write("y")]),
    (
        attention.Rope("x", "cos", "sin", "pos", Dest("y"), 12, 4, 16, 6, RopeLayout.SPLIT),
        [read("x"), read("cos", extent=RowsAt(6, 3)), read("sin", extent=RowsAt(6, 3)), POS, write("y")],
    ),
    (
        data.SetRow("table", "pos", "src", 64, 3),
        [POS, read("src"), write("table", extent=RowsAt(64, 3), elems=HALF)],
    ),
    (
        data.SetRow("table", None, "src", 64, 3, row=5),
        [read("src"), write("table", extent=Region(320, 192), elems=HALF)],
    ),
    (
        attention.Attention("q", "kc", "vc", "pos", "sinks", "out", 3, 4, 2, 16, 8, 100, 0.25, window=32),
        [
            read("q"),
            read("kc", extent=RowsSeen(32, 3, 100, 32), elems=HALF),
            read("vc", extent=RowsSeen(16, 3, 100, 32), elems=HALF),
            POS,
            read("sinks"),
            write("out"),
        ],
    ),
    (
        step.ArgMax("x", "token", "pos", 512, 3, 3),
        [
            read("x", extent=Region(1024, 512)),
            write("token", mode=Mode.UPDATE, elems=I32),
            write("pos", mode=Mode.UPDATE, elems=I32),
        ],
    ),
    (data.Slice("x", "y", 4, 48, 16, 32), [read("x", extent=Region(16, 32, 48, 4), elems=HALF), write("y")]),
    (
        projection.GemmParts("x", 64, 3, PARTS, True),
        [
            read("x", Storage.QUANT),
            read("wq", Storage.MATRIX),
            read("bq"),
            read("wv", Storage.MATRIX),
            DEST_POS,
            write("q"),
            write("cache", extent=RowsAt(16, 3), elems=HALF),
        ],
    ),
    (
        projection.HeadGemv("x", "w", Dest("y", DestMode.PART, pitch=96, offset=32), 3, 4, 16, 24, True, Part(64, 48)),
        [
            read("x", extent=Region(48, 16, 64, 12), elems=HALF),
            read("w", Storage.MATRIX),
            write("y", extent=Region(32, 24, 96, 12)),
        ],
    ),
    (
        projection.HeadGemv("x", "w", Dest("y"), 100, 4, 16, 24, shared=True, upto=projection.UpTo("pos", 3)),
        [
            read("x", extent=RowsSeen(16, 3, 100), elems=HALF),
            read("w", Storage.MATRIX),
            read("pos", elems=I32),
            write("y"),
        ],
    ),
    (
        fold.Fold(PLAIN_GEMV, replace(PLAIN_NORM, x="y", cols=48)),
        [read("x", Storage.QUANT), read("w", Storage.MATRIX), read("w"), write("y"), write("out")],
    ),
)


@pytest.mark.parametrize(("launch", "wanted"), ACCESSES, ids=name_of)
def test_accesses(launch: Launch, wanted: list[Access]) -> None:
    assert list(launch.accesses()) == wanted


@pytest.mark.parametrize(
    ("dest", "wanted"),
    [
        (Dest("out"), write("out")),
        (Dest("out", DestMode.PART, pitch=96, offset=32), write("out", extent=Region(32, 64, 96, 3))),
        (Dest("out", DestMode.ROWS, index="pos", pitch=64), write("out", extent=RowsAt(64, 3), elems=HALF)),
        (
            Dest("out", DestMode.ROWS, row=5, pitch=96, offset=32),
            write("out", extent=Region(512, 64, 96, 3), elems=HALF),
        ),
    ],
    ids=str,
)
def test_accesses_of_destinations(dest: Dest, wanted: Access) -> None:
    launch = norm.Norm("x", None, None, None, 3, 64, 1e-6, into=dest)
    index = [] if dest.index is None else [DEST_POS]
    assert list(launch.accesses()) == [read("x"), *index, wanted]


@pytest.mark.parametrize("launch", [*SAMPLES, *every_launch()], ids=name_of)
def test_accesses_name_what_the_record_names(launch: Launch) -> None:
    """No buffer of a record goes without an access, and none is accessed that is not there."""
    assert {access.name for access in launch.accesses()} == set(tensor_names(launch))


# --- dump lines -------------------------------------------------------------------------------------------------------


def test_dump_lines_show_every_field_but_absent_and_false_ones() -> None:
    assert str(PLAIN_GEMV) == "gemv x=x w=w y=y k=64 n=48 m=3 read_quant"
    assert str(PLAIN_NORM) == "norm x=x w=w out=out rows=3 cols=64 eps=1e-06 centre"
    tailed = replace(PLAIN_GEMV, store_quant=QuantStore.ALONE, tail=projection.Tail(7, 3))
    assert str(tailed) == f"{PLAIN_GEMV} store_quant=alone tail=(whole=7 parts=3)"
    rows = Landing("x", Part(64, 16), "table", Dest("out", DestMode.ROWS, index="pos", pitch=64), 7)
    assert str(rows) == "landing x=x part=[*64+16] table=table out=out[pos:, 64] last=7"
    parts = projection.GemmParts("x", 64, 3, PARTS, True)
    assert str(parts) == (
        "gemm_parts x=x k=64 m=3 parts=[(w=wq y=q n=48 bias=bq) (w=wv y=cache[pos:, 16] n=16)] read_quant"
    )
    assert str(Dest("t", DestMode.ROWS, row=5, pitch=96, offset=32, every=24, seq=9)) == "t[5:, 96 +32 *24 seq 9]"


@dataclass(frozen=True)
class Plain(Launch):
    """A kind that lacks what every kind must define."""

    kind: ClassVar[str] = "plain"

    x: Read
    y: Write


def test_a_kind_must_define_its_meaning_and_its_operations() -> None:
    with pytest.raises(TypeError, match="Plain with abstract methods compute, operations"):
        Plain("x", "y")  # type: ignore[abstract]


@pytest.mark.parametrize("launch", [*SAMPLES, *every_launch()], ids=name_of)
def test_operations_are_counted(launch: Launch) -> None:
    moves = (data.View, data.SetRow, data.Slice, data.Join)
    assert launch.operations() == 0 if isinstance(launch, moves) else launch.operations() > 0
