"""Writes the formats' geometry and constant tables as a C++ header: `python -m lane.quant.tables OUT`.

In: the registry. Out: `lane_quant_tables.h`, of which every number is constexpr and in lane::tables. The text
depends on the registry alone, and the file is touched only when its text changes, so that nothing is rebuilt
in vain.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lane.quant.registry import FORMATS
from lane.quant.table import Table

HEADER = """\
// Written by `python -m lane.quant.tables`: the geometry of every quant format's block, and the constant tables
// that their bits refer to. Not to be edited.

#pragma once

#include <cstdint>

namespace lane::tables {

struct Geometry {
  const char* name;
  int type_id;      // ggml's number for the type, as a GGUF file gives it
  int block_elems;  // values a block
  int block_bytes;
};
"""

FOOTER = "}  // namespace lane::tables\n"


def constant_tables() -> tuple[Table, ...]:
    """Every table that a format names, once, in the order of the registry."""
    return tuple(dict.fromkeys(table for format in FORMATS for table in format.tables))


def constant_name(name: str) -> str:
    """`iq2_xxs_grid` as the C++ half calls it: `kIq2XxsGrid`."""
    return "k" + "".join(word.capitalize() for word in name.split("_"))


def header_text() -> str:
    geometry = [
        f'inline constexpr Geometry k{f.name}{{"{f.name}", {f.type_id}, {f.block_elems}, {f.block_bytes}}};'
        for f in FORMATS
    ]
    every = [f"    k{f.name}," for f in FORMATS]
    listed = ["inline constexpr Geometry kFormats[] = {", *every, "};"]
    sections = [HEADER, "\n".join([*geometry, "", *listed, ""]), *map(_table_text, constant_tables()), FOOTER]
    return "\n".join(sections)


def write_header(out: Path) -> None:
    text = header_text()
    if not out.exists() or out.read_text() != text:
        out.write_text(text)


def _table_text(table: Table) -> str:
    """The table as an array on a cache line's bound: a line a vector, or 16 entries of a list."""
    values = table.values
    shape = "".join(f"[{extent}]" for extent in values.shape)
    opening = f"alignas(64) inline constexpr std::{values.dtype.name}_t {constant_name(table.name)}{shape} = {{"
    if values.ndim == 1:
        lines = [f"    {_joined(values[start : start + 16])}," for start in range(0, len(values), 16)]
    else:
        lines = [f"    {{{_joined(vector)}}}," for vector in values]
    return "\n".join([opening, *lines, "};", ""])


def _joined(numbers: NDArray[np.integer[Any]]) -> str:
    return ", ".join(map(str, numbers.tolist()))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m lane.quant.tables", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("out", type=Path, metavar="OUT", help="the header to write")
    write_header(parser.parse_args().out)


if __name__ == "__main__":
    main()
