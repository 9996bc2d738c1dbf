"""The generated header says what the registry says, in every process, and is touched only when it changes."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import gguf.quants
import numpy as np
import pytest

from lane.errors import UnsupportedError
from lane.quant.grids import _grid
from lane.quant.registry import FORMATS
from lane.quant.table import Table
from lane.quant.tables import constant_name, constant_tables, header_text, write_header

each_table = pytest.mark.parametrize("table", constant_tables(), ids=lambda table: table.name)


def run(out: Path, seed: str) -> bytes:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": seed}
    subprocess.run([sys.executable, "-m", "lane.quant.tables", str(out)], env=env, check=True)
    return out.read_bytes()


def test_every_process_writes_the_same_text(tmp_path: Path) -> None:
    digests = {hashlib.sha256(run(tmp_path / seed, seed)).hexdigest() for seed in ("1", "2")}
    assert digests == {hashlib.sha256(header_text().encode()).hexdigest()}


def test_an_unchanged_header_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "tables.h"
    write_header(out)
    os.utime(out, (1, 1))
    write_header(out)
    assert out.stat().st_mtime == 1
    out.write_text("of an earlier registry")
    write_header(out)
    assert out.read_text() == header_text()


def test_geometry() -> None:
    found = re.findall(r'^inline constexpr Geometry k(\w+)\{"(\w+)", (\d+), (\d+), (\d+)\};$', header_text(), re.M)
    assert found == [(f.name, f.name, str(f.type_id), str(f.block_elems), str(f.block_bytes)) for f in FORMATS]
    (listed,) = re.findall(r"kFormats\[\] = \{([^}]*)\}", header_text())
    assert re.findall(r"k(\w+),", listed) == [f.name for f in FORMATS]


@each_table
def test_table(table: Table) -> None:
    name = constant_name(table.name)
    ((kind, extents, body),) = re.findall(rf"std::(\w+)_t {name}((?:\[\d+\])+) = \{{(.*?)\n\}};", header_text(), re.S)
    numbers = np.array(re.findall(r"-?\d+", body), dtype=np.int64)
    assert kind == table.values.dtype.name
    assert tuple(map(int, re.findall(r"\d+", extents))) == table.values.shape
    np.testing.assert_array_equal(numbers.reshape(table.values.shape), table.values)


@pytest.mark.parametrize("name", ["IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ1_S"])
def test_grid_is_that_of_gguf(name: str) -> None:
    theirs = getattr(gguf.quants, name)
    theirs.init_grid()
    (ours,) = (table for table in constant_tables() if table.name == f"{name.lower()}_grid")
    np.testing.assert_array_equal(ours.values, theirs.grid.reshape(ours.values.shape))


def test_sign_masks_are_those_of_gguf() -> None:
    (ours,) = (table for table in constant_tables() if table.name == "sign_masks")
    assert ours.values.tobytes() == gguf.quants.IQ2_XXS.ksigns


@pytest.mark.parametrize("name", ["IQ2_XXS", "IQ5_XXS"], ids=["another content", "absent"])
def test_an_unknown_grid_is_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedError, match=f"quant: grid of {name} in the gguf package: found .*, allowed 00"):
        _ = _grid(name, 256, 8, "00" * 32).values


@each_table
def test_a_table_cannot_be_changed(table: Table) -> None:
    with pytest.raises(ValueError, match="read-only"):
        table.values[0] = 0
