"""The CPU device's kernels alone: `python bench/kernels.py [--threads N] [--numerics NAME] [--isa NAME] [--formats …]`.

In: nothing but sizes. Out: for each format the rate of a projection of 1, 4, 16 and 512 rows, as matrix bytes a second
(what a few rows are bound by) and multiply-adds a second (what many are), and the same of attention. Each is one launch
of a form, timed by the device; the best of some runs, since whatever else a machine does only adds to a time.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lane import _core
from lane.launch.attention import Attention
from lane.launch.fields import STORED, Storage
from lane.launch.projection import Gemv, Quant
from lane.launch.quantised import Component, component_bytes, components
from lane.launch.record import Dest, Launch, Numerics
from lane.launch.table import ALIGNMENT_BYTES, Elem, Space
from lane.launch.words import buffer_row, launch_words
from lane.quant.format import Format
from lane.quant.registry import FORMATS, format_named

RUNS = 9
ROWS = (1, 4, 16, 512)
MATRIX = (32768, 1536)  # rows and columns: 6 MB in the smallest format, 100 MB in the usual ones
SPANS = (512, 4096)
HEADS, GROUP, WIDTH = 16, 4, 64

POOL_SPACE = list(Space).index(Space.POOL)


@dataclass(frozen=True, slots=True)
class Rate:
    """One launch: what it was, its seconds, the matrix or cache bytes that it reads and its multiply-adds."""

    name: str
    rows: int
    seconds: float
    bytes_read: int
    multiply_adds: int

    def __str__(self) -> str:
        bandwidth, rate = self.bytes_read / self.seconds / 1e9, self.multiply_adds / self.seconds / 1e9
        what = f"{self.name:<14} {self.rows:>4} rows {self.seconds * 1e6:>10.1f} us"
        return f"{what} {bandwidth:>7.1f} GB/s {rate:>8.1f} GMAC/s"


class Bench:
    """A program and the pool that its forms' arrays are carved from."""

    def __init__(self, pool_bytes: int, threads: int, numerics: Numerics, isa: str | None) -> None:
        self.numerics = numerics
        self.program = _core.CpuProgram(threads, list(Numerics).index(numerics), isa)
        self.program.grow_pool(pool_bytes)
        self._end = 0
        self._matrices: list[tuple[int, int, int]] = []  # type, rows and columns of each

    def carve(self, size: int) -> int:
        """The offset of an array of `size` bytes."""
        at = self._end
        self._end += -(-size // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        return at

    def array(self, elems: int, elem: Elem = Elem.F32, quantised: bool = False) -> list[int]:
        """The table row of a new array, its plain values and if wanted its quantised form."""
        storages = STORED if quantised else (Storage.PLAIN,)
        found = (component for storage in storages for component in components(storage, self.numerics))
        places = {component: self.carve(component_bytes(component, elems, elem)) for component in found}
        return buffer_row(Space.POOL, elem, elems, places)

    def matrix(self, format: Format, data: npt.NDArray[np.uint8], rows: int, cols: int) -> list[int]:
        """The table row of a new matrix."""
        number = self.program.add_matrix(format.type_id, rows, cols, [(data, rows)])
        self._matrices.append((format.type_id, rows, cols))
        return buffer_row(Space.MATRIX, Elem.F32, rows * cols, {Component.MATRIX: number})

    def seconds(self, table: Sequence[list[int]], *launches: Launch) -> float:
        """The last launch's best time; names are the table's rows by number."""
        bare = np.array(launch_words(((launch, None) for launch in launches), int), np.int64)
        numerics = list(Numerics).index(self.numerics)
        needs = _core.cpu_needs(
            np.array(table, np.int64), bare, self._matrices, numerics, self.program.threads, self.program.isa
        )
        scratch = self.array(max(scratch_bytes for scratch_bytes, _ in needs) // 4 + 1)
        self.program.grow_pool(self._end)
        words = launch_words(((launch, str(len(table))) for launch in launches), int)
        form = self.program.add_form(np.array([*table, scratch], np.int64), np.array(words, np.int64), 0)
        return min(self.program.profile(form, [])[-1] for _ in range(RUNS)) / 1e9


def projections(
    format: Format, shape: tuple[int, int], threads: int, numerics: Numerics, isa: str | None
) -> Iterator[Rate]:
    """A projection by a matrix of random blocks, at every row count."""
    rows, cols = shape
    data = np.random.default_rng(0).integers(
        0, 64, rows * format.bytes_of(cols), np.uint8
    )  # no f16 field of these is infinite
    int8 = format.block_elems > 1 and numerics is not Numerics.PRECISE
    bench = Bench((cols + rows) * max(ROWS) * 8, threads, numerics, isa)
    matrix = bench.matrix(format, data, rows, cols)
    table = [bench.array(cols * max(ROWS), quantised=int8), matrix, bench.array(rows * max(ROWS))]
    bench.program.write(POOL_SPACE, table[0][3], np.ones(cols * max(ROWS), np.float32).view(np.uint8))
    for m in ROWS:
        gemv = Gemv(x="0", w="1", y=Dest("2"), k=cols, n=rows, m=m, read_quant=int8)
        before = [Quant(x="0", out="0", n=m * cols)] if int8 else []
        yield Rate(format.name, m, bench.seconds(table, *before, gemv), len(data), m * rows * cols)


def attentions(threads: int, numerics: Numerics, isa: str | None) -> Iterator[Rate]:
    """Attention of one row and of a chunk at the end of a span."""
    kv = HEADS // GROUP
    for span in SPANS:
        for m in (1, 512):
            bench = Bench(2 * span * kv * WIDTH * 4 + 2 * m * HEADS * WIDTH * 4 + 4096, threads, numerics, isa)
            caches = [bench.array(span * kv * WIDTH) for _ in range(2)]
            table = [bench.array(m * HEADS * WIDTH), *caches, bench.array(1, Elem.I32), bench.array(m * HEADS * WIDTH)]
            bench.program.write(POOL_SPACE, table[3][3], np.array([span - m], np.int32).view(np.uint8))
            launch = Attention("0", "1", "2", "3", None, "4", m, HEADS, GROUP, WIDTH, WIDTH, span, WIDTH**-0.5)
            pairs = sum(range(span - m + 1, span + 1)) * HEADS
            yield Rate(
                f"attention {span}", m, bench.seconds(table, launch), 2 * span * kv * WIDTH * 4, pairs * 2 * WIDTH
            )


def main(argv: Sequence[str] | None = None) -> None:
    """Prints a line for each launch measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--numerics", choices=[n.value for n in Numerics], default=Numerics.INT8.value)
    parser.add_argument("--isa", choices=_core.cpu_isas(), help="default: the fastest")
    parser.add_argument("--matrix", type=int, nargs=2, default=MATRIX, metavar=("ROWS", "COLS"))
    parser.add_argument("--formats", nargs="*", default=[f.name for f in FORMATS], metavar="FORMAT")
    args = parser.parse_args(argv)
    settings = (args.threads, Numerics(args.numerics), args.isa)
    for name in args.formats:
        for rate in projections(format_named(name), tuple(args.matrix), *settings):
            print(rate, flush=True)
    for rate in attentions(*settings):
        print(rate, flush=True)


if __name__ == "__main__":
    main()
