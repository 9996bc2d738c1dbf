"""Rotation and attention over a cached span."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lane.launch.meaning.attention import AttentionShape, RopeLayout, attend, rotate
from lane.launch.record import Launch, Memory, Read, ReadRows, Write


@dataclass(frozen=True)
class Rope(Launch):
    """The first 2·half values of every head turned by the angle of their row's position; the rest copied.

    (a, b) ← (a·cos − b·sin, a·sin + b·cos), the angle's cos and sin read from row `pos + r` of tables `half` wide.
    `heads` counts heads over all rows, `per_row` of them to a row, each of `hd` values.
    """

    kind: ClassVar[str] = "rope"

    x: Read
    cos: ReadRows
    sin: ReadRows
    pos: Read
    y: Write
    heads: int
    per_row: int
    hd: int
    half: int
    layout: RopeLayout

    def compute(self, memory: Memory) -> None:
        n = self.heads * self.hd
        x = memory.plain(self.x)[:n].astype(np.float64).reshape(-1, self.per_row, self.hd)
        rows = int(memory.plain(self.pos)[0]) + np.arange(len(x))
        cos = memory.plain(self.cos).reshape(-1, self.half)[rows].astype(np.float64)
        sin = memory.plain(self.sin).reshape(-1, self.half)[rows].astype(np.float64)
        memory.plain(self.y)[:n] = rotate(x, cos, sin, self.layout).reshape(-1)

    def operations(self) -> int:
        return 6 * self.heads * self.half


@dataclass(frozen=True)
class Attention(Launch):
    """Softmax attention of `rows` query rows at positions pos + r over the cached rows at or before each.

    Per head h of `heads`, reading key/value head h // group: s_p = scale · q·k_p, soft-capped by c·tanh(s/c) when `cap`
    > 0, over positions p ≤ pos + r with pos + r − p < window (`window` 0: all), softmax with the head's sink joining
    the denominator when there are `sinks`; out = Σ softmax(s)_p · v_p. The caches are tables of `len` rows: keys
    (heads/group)·hd wide, values (heads/group)·vd wide.
    """

    kind: ClassVar[str] = "attention"

    q: Read
    kc: Read
    vc: Read
    pos: Read
    sinks: Read | None
    out: Write
    rows: int
    heads: int
    group: int
    hd: int
    vd: int
    len: int
    scale: float
    window: int = 0
    cap: float = 0.0

    def compute(self, memory: Memory) -> None:
        kv_heads = self.heads // self.group
        q = memory.plain(self.q)[: self.rows * self.heads * self.hd].astype(np.float64)
        out = attend(
            q.reshape(self.rows, kv_heads, self.group, self.hd),
            memory.plain(self.kc).astype(np.float64).reshape(self.len, kv_heads, self.hd),
            memory.plain(self.vc).astype(np.float64).reshape(self.len, kv_heads, self.vd),
            None if self.sinks is None else memory.plain(self.sinks).reshape(kv_heads, self.group),
            AttentionShape(int(memory.plain(self.pos)[0]), self.scale, self.window, self.cap),
        )
        memory.plain(self.out)[: out.size] = out.reshape(-1)

    def operations(self) -> int:
        span = min(self.window or self.len, self.len)
        return 2 * self.rows * self.heads * span * (self.hd + self.vd)
