"""Projections, and the quantiser that feeds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lane.launch.elementwise import ACTIVATION_OPERATIONS
from lane.launch.fields import (
    Extent,
    Matrix,
    QuantStore,
    Read,
    ReadHalf,
    ReadIndex,
    ReadQuant,
    Region,
    RowsSeen,
    Units,
    WriteQuant,
)
from lane.launch.meaning.elementwise import UnaryOp, gated
from lane.launch.meaning.product import head_product, product
from lane.launch.record import (
    F64,
    Launch,
    Memory,
    Part,
    Record,
    WriteQuantTo,
    WriteTo,
    read_units,
    read_values,
    store_units,
    store_values,
)


@dataclass(frozen=True)
class Tail(Record):
    """How a tensor-core GEMM's last wave is filled: `whole` tiles a block each, later ones cut in `parts` along k."""

    whole: int
    parts: int


@dataclass(frozen=True)
class Quant(Launch):
    """The quantised form of the first `n` values of a plain tensor."""

    kind: ClassVar[str] = "quant"

    x: Read
    out: WriteQuant
    n: int

    @property
    def store_quant(self) -> QuantStore:
        """What it writes is that form alone."""
        return QuantStore.ALONE

    def compute(self, memory: Memory) -> None:
        memory.quantise(self.out, memory.plain(self.x)[: self.n])

    def operations(self, position: int | None = None) -> int:
        return 4 * self.n


@dataclass(frozen=True)
class Gemv(Launch):
    """y (m × n) = x (m × k) · wᵀ + bias, w being n rows of k values in its checkpoint format.

    `read_quant`: x is read in its quantised form (block formats under the int8 numerics), otherwise plain. A warp takes
    `per_warp` of w's rows (none: one). In a `batch` rows are summed one by one as the decode step sums its one.
    """

    kind: ClassVar[str] = "gemv"

    x: ReadQuant
    w: Matrix
    y: WriteQuantTo
    k: int
    n: int
    m: int
    read_quant: bool
    bias: Read | None = None
    store_quant: QuantStore | None = None
    per_warp: int | None = None
    tail: Tail | None = None
    batch: bool = False

    def extent(self, field: str, of: Record) -> Extent | None:
        return self.y.extent(Units(self.m, 1, self.n)) if field == "y" else None

    def compute(self, memory: Memory) -> None:
        x = read_values(memory, self.x, self.m * self.k, self.read_quant).reshape(self.m, self.k)
        store_units(memory, self.y, _product(memory, x, self.w, self.bias)[:, None], self.store_quant)

    def operations(self, position: int | None = None) -> int:
        return 2 * self.m * self.n * self.k


@dataclass(frozen=True)
class GemvF32(Launch):
    """y (m × n) = x (m × k) · w + bias, w being f32 values stored transposed (k × n); k is cut in `split` parts."""

    kind: ClassVar[str] = "gemv_f32"

    x: Read
    w: Read
    y: WriteTo
    k: int
    n: int
    m: int
    bias: Read | None = None
    split: int | None = None
    batch: bool = False

    def extent(self, field: str, of: Record) -> Extent | None:
        return self.y.extent(Units(self.m, 1, self.n)) if field == "y" else None

    def compute(self, memory: Memory) -> None:
        x = read_values(memory, self.x, self.m * self.k).reshape(self.m, self.k)
        w = read_values(memory, self.w, self.k * self.n).reshape(self.k, self.n)
        store_units(memory, self.y, product(x, w.T, _bias(memory, self.bias, self.n))[:, None])

    def operations(self, position: int | None = None) -> int:
        return 2 * self.m * self.n * self.k


@dataclass(frozen=True)
class GemmPart(Record):
    """One of the matrices that a GEMM in parts multiplies by: n rows, their bias, where their products go."""

    w: Matrix
    y: WriteTo
    n: int
    bias: Read | None = None


@dataclass(frozen=True)
class GemmParts(Launch):
    """Up to 4 matrices of one format on one activation x (m × k), side by side, each to its own destination."""

    kind: ClassVar[str] = "gemm_parts"

    x: ReadQuant
    k: int
    m: int
    parts: tuple[GemmPart, ...]
    read_quant: bool
    per_warp: int | None = None
    tail: Tail | None = None
    batch: bool = False

    def extent(self, field: str, of: Record) -> Extent | None:
        return of.y.extent(Units(self.m, 1, of.n)) if field == "y" and isinstance(of, GemmPart) else None

    def compute(self, memory: Memory) -> None:
        x = read_values(memory, self.x, self.m * self.k, self.read_quant).reshape(self.m, self.k)
        for part in self.parts:
            store_units(memory, part.y, _product(memory, x, part.w, part.bias)[:, None])

    def operations(self, position: int | None = None) -> int:
        return sum(2 * self.m * part.n * self.k for part in self.parts)


@dataclass(frozen=True)
class GemvGlu(Launch):
    """out (m × n) = act(x·wgᵀ + bg) · (x·wuᵀ + bu), the two matrices being n rows of k values each."""

    kind: ClassVar[str] = "gemv_glu"

    x: ReadQuant
    wg: Matrix
    wu: Matrix
    out: WriteQuant
    k: int
    n: int
    m: int
    read_quant: bool
    act: UnaryOp = UnaryOp.SILU
    bg: Read | None = None
    bu: Read | None = None
    store_quant: QuantStore | None = None
    per_warp: int | None = None
    tail: Tail | None = None
    batch: bool = False

    def compute(self, memory: Memory) -> None:
        x = read_values(memory, self.x, self.m * self.k, self.read_quant).reshape(self.m, self.k)
        gate, up = _product(memory, x, self.wg, self.bg), _product(memory, x, self.wu, self.bu)
        store_values(memory, self.out, gated(self.act, gate, up), self.store_quant)

    def operations(self, position: int | None = None) -> int:
        return self.m * self.n * (4 * self.k + 1 + ACTIVATION_OPERATIONS)


@dataclass(frozen=True)
class UpTo(Record):
    """Rows before the position that `pos` names plus `count`: of a cache, those that are there after this step."""

    pos: ReadIndex
    count: int

    def rows(self, position: int) -> int:
        """How many rows that is for a step at `position`."""
        return position + self.count


@dataclass(frozen=True)
class HeadGemv(Launch):
    """Per head h of m rows: y[:, h] (b values) = x[:, h] (a values) times the head's own matrix.

    With `rows_out` the matrix's rows are the head's outputs (w is heads·b rows of a values: y = w·x), otherwise its
    inputs (heads·a rows of b values: y = Σ x_i·w_i). `shared`: every head reads its row's one unit of x. `upto`: only
    so many of the m rows.
    """

    kind: ClassVar[str] = "head_gemv"

    x: ReadHalf
    w: Matrix
    y: WriteTo
    m: int
    heads: int
    a: int
    b: int
    rows_out: bool = False
    part: Part | None = None
    shared: bool = False
    upto: UpTo | None = None
    batch: bool = False

    def extent(self, field: str, of: Record) -> Extent | None:
        if field == "x":
            units = Units(self.m, 1 if self.shared else self.heads, self.a)
            if self.upto is not None:
                return RowsSeen(units.per_row * units.width, self.upto.count, self.m)
            return Region(0, units.elems) if self.part is None else self.part.region(units)
        return self.y.extent(Units(self.m, self.heads, self.b)) if field == "y" else None

    def compute(self, memory: Memory) -> None:
        rows = self.m if self.upto is None else min(self.m, self.upto.rows(int(memory.plain(self.upto.pos)[0])))
        x = read_units(memory, self.x, Units(rows, 1 if self.shared else self.heads, self.a), self.part)
        w = memory.matrix(self.w)
        if self.rows_out:
            w = w.reshape(self.heads, self.b, self.a)
        else:
            w = w.reshape(self.heads, self.a, self.b).swapaxes(1, 2)
        store_units(memory, self.y, head_product(x, w))

    def operations(self, position: int | None = None) -> int:
        rows = self.m if self.upto is None or position is None else min(self.m, self.upto.rows(position))
        return 2 * rows * self.heads * self.a * self.b


def _product(memory: Memory, x: F64, w: str, bias: str | None) -> F64:
    matrix = memory.matrix(w)
    return product(x, matrix, _bias(memory, bias, len(matrix)))


def _bias(memory: Memory, bias: str | None, n: int) -> F64 | None:
    return None if bias is None else read_values(memory, bias, n)
