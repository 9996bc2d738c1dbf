"""Row norms: y = x · rsqrt(mean(x²) + eps) · w, and with `centre` the same of x − mean(x), plus a bias (LayerNorm)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lane.launch.meaning.norm import normed
from lane.launch.record import Launch, Memory, Read, Write


@dataclass(frozen=True)
class Norm(Launch):
    """RMS norm (or LayerNorm) of `rows` units of `cols` values; a unit is a row or one head of one."""

    kind: ClassVar[str] = "norm"

    x: Read
    w: Read | None
    bias: Read | None
    out: Write
    rows: int
    cols: int
    eps: float
    centre: bool = False

    def compute(self, memory: Memory) -> None:
        x = memory.plain(self.x)[: self.rows * self.cols].astype(np.float64).reshape(self.rows, self.cols)
        w = None if self.w is None else memory.plain(self.w)[: self.cols]
        bias = None if self.bias is None else memory.plain(self.bias)[: self.cols]
        y = normed(x, w, bias, self.eps, self.centre)
        memory.plain(self.out)[: y.size] = y.reshape(-1)

    def operations(self) -> int:
        return 5 * self.rows * self.cols
