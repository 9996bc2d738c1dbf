"""Writes `lane_spec.h`: the launch records and shared facts for the C++ half. `python -m lane.launch.spec FILE`.

Enters: the kinds' dataclasses. Leaves: one header with an enum class an enumeration, a struct a kind that decodes
itself from its words, and a hash over all of it that both halves carry and compare. Deterministic: same declarations,
same bytes.
"""

from __future__ import annotations

import enum
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

from lane.launch import projection, record, table
from lane.launch.record import DestMode, FieldSpec, Launch, Numerics, field_specs, word_kinds
from lane.launch.registry import KINDS
from lane.launch.tiles import TILES


def _camel(name: str) -> str:
    return "k" + "".join(part.capitalize() for part in name.lower().split("_"))


def _enums() -> list[type[enum.Enum]]:
    found: list[type[enum.Enum]] = [Numerics, DestMode, table.Space, table.Elem]
    for kind in KINDS:
        for spec in field_specs(kind):
            if isinstance(spec.type, type) and issubclass(spec.type, enum.Enum) and spec.type not in found:
                found.append(spec.type)
    return found


def _enum_text(cls: type[enum.Enum]) -> str:
    members = ", ".join(_camel(m.name) for m in cls)
    names = ", ".join(f'"{m.value}"' for m in cls)
    return (
        f"enum class {cls.__name__} : std::int64_t {{ {members} }};\n"
        f"inline constexpr const char* k{cls.__name__}Names[] = {{{names}}};\n"
    )


def _c_type(spec: FieldSpec) -> str:
    if spec.type is str:
        return "Ref"
    if spec.type in (record.Part, record.Dest):
        return str(spec.type.__name__)
    if spec.type is float:
        return "double"
    if spec.type is bool:
        return "bool"
    if spec.type is int:
        return "std::int64_t"
    return str(spec.type.__name__)


def _c_decode(spec: FieldSpec, at: int) -> str:
    word = f"w[{at}]"
    c_type = _c_type(spec)
    if c_type in ("Part", "Dest"):
        return f"{c_type}::decode(w + {at})"
    if c_type == "double":
        return f"std::bit_cast<double>({word})"
    if c_type == "bool":
        return f"{word} != 0"
    if c_type == "std::int64_t":
        return word
    return f"static_cast<{c_type}>({word})"


def _kind_text(kind: type[Launch]) -> str:
    members, decoded, at = [], [], 0
    for spec in field_specs(kind):
        members.append(f"  {_c_type(spec)} {spec.name};\n")
        decoded.append(f"        .{spec.name} = {_c_decode(spec, at)},\n")
        at += len(word_kinds(spec))
    return (
        f"struct {kind.__name__} {{\n"
        f'  static constexpr const char* kName = "{kind.kind}";\n'
        f"  static constexpr std::int64_t kKind = {KINDS.index(kind)};\n"
        f"  static constexpr std::int64_t kWords = {at};\n"
        f"{''.join(members)}"
        f"  static {kind.__name__} decode(const std::int64_t* w) {{\n"
        f"    return {{\n{''.join(decoded)}    }};\n  }}\n}};\n"
    )


_PREAMBLE = """\
// Index of a buffer in the form's table; kNone: the launch has no such operand.
using Ref = std::int32_t;
inline constexpr Ref kNone = -1;
struct Part {
  std::int64_t pitch, offset;
  static Part decode(const std::int64_t* w) { return {w[0], w[1]}; }
};
struct Dest {
  Ref buffer;
  DestMode mode;
  Ref index;
  std::int64_t row, pitch, offset;
  static Dest decode(const std::int64_t* w) {
    return {static_cast<Ref>(w[0]), static_cast<DestMode>(w[1]), static_cast<Ref>(w[2]), w[3], w[4], w[5]};
  }
};
"""


def _body() -> Iterator[str]:
    yield f"inline constexpr std::int64_t kQuantBlockElems = {record.QUANT_BLOCK_ELEMS};\n"
    yield f"inline constexpr std::int64_t kSumBlockElems = {record.SUM_BLOCK_ELEMS};\n"
    yield f"inline constexpr std::int64_t kSecondWordSteps = {projection.SECOND_WORD_STEPS};\n"
    yield f"inline constexpr std::int64_t kAlignmentBytes = {table.ALIGNMENT_BYTES};\n"
    yield f"inline constexpr std::int64_t kTableColumns = {len(table.COLUMNS)};\n"
    for tile in TILES:
        yield f"inline constexpr std::int64_t {_camel(tile.name)} = {tile.value};  // {tile.why}\n"
    columns = ", ".join(_camel(c) for c in table.COLUMNS)
    yield f"enum Column : std::int64_t {{ {columns} }};\n"
    for cls in _enums():
        yield _enum_text(cls)
    yield _PREAMBLE
    for kind in KINDS:
        yield _kind_text(kind)


def _text() -> tuple[str, str]:
    body = "".join(_body())
    kinds = " ".join(f"X({kind.__name__})" for kind in KINDS)
    digest = hashlib.sha256((body + kinds).encode()).hexdigest()[:16]
    text = (
        "// Generated from the launch kinds' declarations; not to be edited or checked in.\n"
        "#pragma once\n#include <bit>\n#include <cstdint>\nnamespace lane::spec {\n"
        f'inline constexpr const char kHash[] = "{digest}";\n{body}'
        "}  // namespace lane::spec\n"
        f"#define LANE_LAUNCH_KINDS(X) {kinds}\n"
    )
    return text, digest


def header() -> str:
    """The text of `lane_spec.h`."""
    return _text()[0]


def spec_hash() -> str:
    """The hash that `lane_spec.h` carries."""
    return _text()[1]


def main(argv: list[str]) -> int:
    """Writes the header to the file named."""
    Path(argv[0]).write_text(header())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
