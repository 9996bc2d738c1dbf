"""Row norms: y = x · rsqrt(mean(x²) + eps) · w, and with `centre` the same of x − mean(x), plus a bias (LayerNorm)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lane.launch.fields import Extent, QuantStore, Read, Units, Write, WriteQuant
from lane.launch.meaning.norm import normed
from lane.launch.record import (
    Launch,
    Memory,
    Part,
    Record,
    WriteTo,
    read_units,
    read_values,
    store_units,
    store_values,
)


@dataclass(frozen=True)
class Norm(Launch):
    """RMS norm (or LayerNorm) of `rows` units of `cols` values; a unit is a row or one head of one.

    `part`: x is a part of every unit of a wider tensor. `add`: the units of `add` are added to those of x first, normed
    themselves by the weight `pre` if there is one, and `sum` keeps the sum. `into`: the plain result lands there, as
    units of `per_row` (none: one) to a row; a quantised form stays with `out`, which otherwise there is none of.
    """

    kind: ClassVar[str] = "norm"

    x: Read
    w: Read | None
    bias: Read | None
    out: WriteQuant | None
    rows: int
    cols: int
    eps: float
    centre: bool = False
    part: Part | None = None
    add: Read | None = None
    pre: Read | None = None
    sum: Write | None = None
    into: WriteTo | None = None
    per_row: int | None = None
    store_quant: QuantStore | None = None

    def extent(self, field: str, of: Record) -> Extent | None:
        if field == "x" and self.part is not None:
            return self.part.region(Units(self.rows, 1, self.cols))
        if field == "into" and self.into is not None:
            return self.into.extent(self._units())
        return None

    def compute(self, memory: Memory) -> None:
        x = read_units(memory, self.x, Units(self.rows, 1, self.cols), self.part)[:, 0]
        if self.add is not None:
            added = read_values(memory, self.add, x.size).reshape(x.shape)
            x = x + (added if self.pre is None else normed(added, memory.plain(self.pre)[: self.cols], None, self.eps))
        if self.sum is not None:
            store_values(memory, self.sum, x)
        w = None if self.w is None else memory.plain(self.w)[: self.cols]
        bias = None if self.bias is None else memory.plain(self.bias)[: self.cols]
        y = normed(x, w, bias, self.eps, self.centre)
        if self.into is not None:
            units = self._units()
            store_units(memory, self.into, y.reshape(units.rows, units.per_row, units.width))
        if self.out is not None:
            store_values(memory, self.out, y, self.store_quant)

    def operations(self, position: int | None = None) -> int:
        norms = 1 + (self.pre is not None)
        return (5 * norms + (self.add is not None)) * self.rows * self.cols

    def _units(self) -> Units:
        per_row = self.per_row or 1
        return Units(self.rows // per_row, per_row, self.cols)
