"""Writes the headers of what both halves share: `python -m lane.launch.spec FILE`, FILE named as one of `HEADERS`.

Enters: the kinds' dataclasses, the sizes. Leaves: `lane_spec.h`, numbers and enumerations alone, and `lane_records.h`,
with a struct a record that decodes itself from its words; a hash over both, which both halves carry and compare.
Deterministic: same declarations, same bytes.
"""

from __future__ import annotations

import enum
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from lane.launch import quantised, table
from lane.launch.record import Numerics
from lane.launch.record_text import all_enums, camel, record_texts
from lane.launch.registry import KINDS
from lane.launch.tiles import TILES

_NOTE = "// Generated from the launch kinds' declarations; not to be edited or checked in.\n#pragma once\n"


def _enum_text(cls: type[enum.Enum]) -> str:
    members = ", ".join(camel(m.name) for m in cls)
    names = ", ".join(f'"{m.value}"' for m in cls)
    return (
        f"enum class {cls.__name__} : std::int64_t {{ {members} }};\n"
        f"inline constexpr const char* k{cls.__name__}Names[] = {{{names}}};\n"
    )


def _numbers() -> Iterator[str]:
    yield f"inline constexpr std::int64_t kQuantBlockElems = {quantised.QUANT_BLOCK_ELEMS};\n"
    yield f"inline constexpr std::int64_t kSecondWordSteps = {quantised.SECOND_WORD_STEPS};\n"
    yield f"inline constexpr std::int64_t kAlignmentBytes = {table.ALIGNMENT_BYTES};\n"
    yield f"inline constexpr std::int64_t kTableColumns = {len(table.COLUMNS)};\n"
    for tile in TILES:
        yield f"inline constexpr std::int64_t {camel(tile.name)} = {tile.value};  // {tile.why}\n"
    columns = ", ".join(camel(c) for c in table.COLUMNS)
    yield f"enum Column : std::int64_t {{ {columns} }};\n"
    enums: list[type[enum.Enum]] = [Numerics, table.Space, table.Elem, *all_enums(KINDS)]
    for cls in dict.fromkeys(enums):
        yield _enum_text(cls)


def _records() -> str:
    kinds = " ".join(f"X({kind.__name__})" for kind in KINDS)
    return "".join(record_texts(KINDS)) + "}  // namespace lane::spec\n" + f"#define LANE_LAUNCH_KINDS(X) {kinds}\n"


def spec_hash() -> str:
    """The hash that `lane_spec.h` carries."""
    return hashlib.sha256(("".join(_numbers()) + _records()).encode()).hexdigest()[:16]


def header() -> str:
    """The text of `lane_spec.h`."""
    return (
        f"{_NOTE}#include <cstdint>\nnamespace lane::spec {{\n"
        f'inline constexpr const char kHash[] = "{spec_hash()}";\n{"".join(_numbers())}'
        "}  // namespace lane::spec\n"
    )


def record_header() -> str:
    """The text of `lane_records.h`."""
    includes = "".join(f"#include <{name}>\n" for name in ("bit", "cstdint", "optional", "variant", "vector"))
    return f'{_NOTE}{includes}#include "lane_spec.h"\nnamespace lane::spec {{\n{_records()}'


HEADERS: Mapping[str, Callable[[], str]] = {"lane_spec.h": header, "lane_records.h": record_header}


def main(argv: list[str]) -> int:
    """Writes the header that the file's name says."""
    path = Path(argv[0])
    path.write_text(HEADERS[path.name]())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
