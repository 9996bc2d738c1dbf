"""Rotation and attention over a cached span."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lane.launch.fields import (
    Extent,
    QuantStore,
    Read,
    ReadHalf,
    ReadIndex,
    Region,
    RowsAt,
    RowsSeen,
    Units,
    WriteQuant,
    unit_places,
)
from lane.launch.meaning.attention import AttentionShape, RopeLayout, SplitPart, attend, rotate
from lane.launch.meaning.elementwise import UnaryOp, activate
from lane.launch.meaning.norm import normed
from lane.launch.record import F64, I32, Launch, Memory, Part, Record, WriteTo, read_units, store_units, store_values


@dataclass(frozen=True)
class Rope(Launch):
    """The first 2·half values of every head turned by the angle of their row's position; the rest copied.

    (a, b) ← (a·cos − b·sin, a·sin + b·cos), the angle's cos and sin read from row `pos + r` of tables `half` wide (row
    r without a `pos`; in a `batch` row `pos[r]`). `heads` counts heads over all rows, `per_row` of them to a row, each
    of `hd` values. `part`: x is a part of every unit of a wider tensor. `norm`: heads are RMS-normed by it first.
    """

    kind: ClassVar[str] = "rope"

    x: Read
    cos: Read
    sin: Read
    pos: ReadIndex | None
    y: WriteTo
    heads: int
    per_row: int
    hd: int
    half: int
    layout: RopeLayout
    part: Part | None = None
    norm: Read | None = None
    eps: float | None = None
    batch: bool = False

    def extent(self, field: str, of: Record) -> Extent | None:
        rows = self.heads // self.per_row
        if field in ("cos", "sin"):
            return RowsAt(self.half, rows)
        if field == "pos":
            return Region(0, rows if self.batch else 1)
        return _side_extent(field, RopeSide(self.x, self.y, self.heads, self.per_row, self.part), self.hd)

    def compute(self, memory: Memory) -> None:
        side = RopeSide(self.x, self.y, self.heads, self.per_row, self.part, self.norm)
        _turn(memory, side, self)

    def operations(self, position: int | None = None) -> int:
        return (6 * self.half + (0 if self.norm is None else 5 * self.hd)) * self.heads


@dataclass(frozen=True)
class RopeSide(Record):
    """One of the rotations that a launch does at once: queries or keys, as `Rope` says."""

    x: Read
    y: WriteTo
    heads: int
    per_row: int
    part: Part | None = None
    norm: Read | None = None


@dataclass(frozen=True)
class RopeParts(Launch):
    """A layer's query and key rotations: at the same positions, by the same tables, normed with the same epsilon."""

    kind: ClassVar[str] = "rope_parts"

    sides: tuple[RopeSide, ...]
    cos: Read
    sin: Read
    pos: ReadIndex | None
    hd: int
    half: int
    layout: RopeLayout
    eps: float | None = None
    batch: bool = False

    def extent(self, field: str, of: Record) -> Extent | None:
        rows = self.sides[0].heads // self.sides[0].per_row
        if field in ("cos", "sin"):
            return RowsAt(self.half, rows)
        if field == "pos":
            return Region(0, rows if self.batch else 1)
        return _side_extent(field, of, self.hd) if isinstance(of, RopeSide) else None

    def compute(self, memory: Memory) -> None:
        for side in self.sides:
            _turn(memory, side, self)

    def operations(self, position: int | None = None) -> int:
        return sum((6 * self.half + (0 if side.norm is None else 5 * self.hd)) * side.heads for side in self.sides)


def _side_units(side: RopeSide, hd: int) -> Units:
    return Units(side.heads // side.per_row, side.per_row, hd)


def _side_extent(field: str, side: RopeSide, hd: int) -> Extent | None:
    units = _side_units(side, hd)
    if field == "x" and side.part is not None:
        return side.part.region(units)
    return side.y.extent(units) if field == "y" else None


def _turn(memory: Memory, side: RopeSide, launch: Rope | RopeParts) -> None:
    units = _side_units(side, launch.hd)
    x = read_units(memory, side.x, units, side.part)
    if side.norm is not None:
        assert launch.eps is not None, f"'{side.x}' is normed without an epsilon"
        x = normed(x.reshape(-1, launch.hd), memory.plain(side.norm)[: launch.hd], None, launch.eps).reshape(x.shape)
    rows = row_positions(memory, launch.pos, units.rows, launch.batch)
    cos = memory.plain(launch.cos).reshape(-1, launch.half)[rows].astype(np.float64)
    sin = memory.plain(launch.sin).reshape(-1, launch.half)[rows].astype(np.float64)
    store_units(memory, side.y, rotate(x, cos, sin, launch.layout))


def row_positions(memory: Memory, pos: str | None, rows: int, batch: bool) -> I32:
    """Each row's position: one after the other from the one given (none: 0) on; in a batch, its own."""
    if pos is None:
        return np.arange(rows, dtype=np.int32)
    given = memory.plain(pos)
    return np.asarray(given[:rows] if batch else int(given[0]) + np.arange(rows), np.int32)


@dataclass(frozen=True)
class SplitKeys(Record):
    """The second part of queries and keys that are in two, each read in place; a row's heads share its one second key.

    `q` holds `width` values a head (or a part of every unit), `k` is a table of the cache's rows: row p's second key is
    at p · kstride + koff.
    """

    q: Read
    k: ReadHalf
    width: int
    kstride: int
    koff: int
    part: Part | None = None


@dataclass(frozen=True)
class OutputGate(Record):
    """What an attention's output is multiplied by: another tensor's units, through an activation."""

    x: Read
    act: UnaryOp
    part: Part | None = None


@dataclass(frozen=True)
class Attention(Launch):
    """Softmax attention of `rows` query rows at positions pos + r over the cached rows at or before each.

    Per head h of `heads`, reading key/value head h // group: s_p = scale · q·k_p, soft-capped by c·tanh(s/c) when `cap`
    > 0, over positions p ≤ pos + r with pos + r − p < window (`window` 0: all), softmax with the head's sink joining
    the denominator when there are `sinks`; out = Σ softmax(s)_p · v_p. The caches are tables of `len` rows: keys
    (heads/group)·hd wide, values (heads/group)·vd wide; with `vstride`, values are read in place in wider rows, head g
    of row p at p · vstride + voff + g · vd. In a batch (`seq`) row r has a position of its own, pos[r], and caches that
    lie `seq` elements after those of the row before it. `split` adds a second product to every score; `gate` multiplies
    the output.

    How it is computed changes no value: `per_block` query heads a block; the span in `splits` chunks, `parallel` in
    blocks of their own; `shared` the most chunks when every head reads its one group's rows together.
    """

    kind: ClassVar[str] = "attention"

    q: Read
    kc: ReadHalf
    vc: ReadHalf
    pos: ReadIndex
    sinks: Read | None
    out: WriteQuant
    rows: int
    heads: int
    group: int
    hd: int
    vd: int
    len: int
    scale: float
    window: int = 0
    cap: float = 0.0
    part: Part | None = None
    vstride: int | None = None
    voff: int | None = None
    split: SplitKeys | None = None
    gate: OutputGate | None = None
    seq: int | None = None
    store_quant: QuantStore | None = None
    per_block: int | None = None
    splits: int | None = None
    parallel: bool = False
    shared: int | None = None

    def extent(self, field: str, of: Record) -> Extent | None:
        heads = Units(self.rows, self.heads, self.hd)
        if isinstance(of, SplitKeys):
            if field == "k":
                return self._seen(of.width)
            return None if of.part is None else of.part.region(Units(self.rows, self.heads, of.width))
        if isinstance(of, OutputGate):
            return None if of.part is None else of.part.region(Units(self.rows, self.heads, self.vd))
        if field in ("kc", "vc"):
            return self._seen(self._kv_heads * (self.hd if field == "kc" else self.vd))
        if field == "pos":
            return Region(0, 1 if self.seq is None else self.rows)
        return self.part.region(heads) if field == "q" and self.part is not None else None

    def compute(self, memory: Memory) -> None:
        q = read_units(memory, self.q, Units(self.rows, self.heads, self.hd), self.part)
        sinks = None if self.sinks is None else memory.plain(self.sinks).reshape(self._kv_heads, self.group)
        positions = row_positions(memory, self.pos, self.rows, self.seq is not None)
        out = np.empty((self.rows, self.heads, self.vd))
        together = self.rows if self.seq is None else 1  # rows that share their caches
        for r in range(0, self.rows, together):
            keys, values = self._cached(memory, r)
            split = None if self.split is None else self._second(memory, self.split, r, together)
            query = q[r : r + together].reshape(together, self._kv_heads, self.group, -1)
            shape = AttentionShape(int(positions[r]), self.scale, self.window, self.cap)
            out[r : r + together] = attend(query, keys, values, sinks, shape, split).reshape(-1, self.heads, self.vd)
        if self.gate is not None:
            gate = read_units(memory, self.gate.x, Units(self.rows, self.heads, self.vd), self.gate.part)
            out = out * activate(self.gate.act, gate)
        store_values(memory, self.out, out, self.store_quant)

    def operations(self, position: int | None = None) -> int:
        start = self.len - self.rows if position is None else position
        width = self.hd + self.vd + (0 if self.split is None else self.split.width)
        return 2 * self.heads * width * self._pairs(start)

    @property
    def _kv_heads(self) -> int:
        return self.heads // self.group

    def _seen(self, width: int) -> Extent:
        if self.seq is None:
            return RowsSeen(width, self.rows, self.len, self.window)
        return RowsSeen(width, 1, self.len, self.window, self.rows)

    def _pairs(self, start: int) -> int:
        """How many cached rows all query rows look at together."""
        if self.seq is not None:
            return self.rows * min(start + 1, self.window or start + 1)
        growing = self.rows if not self.window else min(self.rows, max(0, self.window - start))
        return growing * start + growing * (growing + 1) // 2 + (self.rows - growing) * self.window

    def _cached(self, memory: Memory, row: int) -> tuple[F64, F64]:
        """The keys and values of a row's sequence: len × kv heads × width."""
        kv, begin = self._kv_heads, row * (self.seq or 0)
        value_row = kv * self.vd if self.vstride is None else self.vstride
        keys = unit_places(Units(self.len, kv, self.hd), kv * self.hd, self.hd, begin)
        values = unit_places(Units(self.len, kv, self.vd), value_row, self.vd, begin + (self.voff or 0))
        return memory.plain(self.kc)[keys].astype(np.float64), memory.plain(self.vc)[values].astype(np.float64)

    def _second(self, memory: Memory, split: SplitKeys, row: int, rows: int) -> SplitPart:
        """The second parts of some rows' queries, and of their sequence's keys."""
        q = read_units(memory, split.q, Units(self.rows, self.heads, split.width), split.part)[row : row + rows]
        begin = row * (self.seq or 0) + split.koff
        places = unit_places(Units(self.len, 1, split.width), split.kstride, 0, begin)[:, 0]
        return SplitPart(
            q.reshape(rows, self._kv_heads, self.group, -1), memory.plain(split.k)[places].astype(np.float64)
        )
