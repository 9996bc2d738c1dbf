"""The launch that closes a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lane.launch.record import Launch, Memory, Read, Touch


@dataclass(frozen=True)
class ArgMax(Launch):
    """token = arg-max of the last of `rows` rows of `n` logits (the lowest index of equals); pos advances by `advance`.

    A NaN logit is never chosen; a row of nothing but NaN chooses 0.
    """

    kind: ClassVar[str] = "argmax"

    x: Read
    token: Touch
    pos: Touch
    n: int
    rows: int
    advance: int

    def compute(self, memory: Memory) -> None:
        last = memory.plain(self.x)[(self.rows - 1) * self.n : self.rows * self.n]
        memory.plain(self.token)[0] = np.argmax(np.where(np.isnan(last), -np.inf, last))
        memory.plain(self.pos)[0] += self.advance

    def operations(self) -> int:
        return self.n
