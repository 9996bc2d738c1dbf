"""The op that closes a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lane.graph.ops.base import Arrays, Op, Reads, Tensors, Updates
from lane.launch.meaning.choice import best


@dataclass(frozen=True)
class ArgMax(Op):
    """token = arg-max of the last row of logits (the lowest index of equals, NaN never); pos += `advance`."""

    kind: ClassVar[str] = "argmax"

    logits: Reads
    token: Updates
    pos: Updates
    advance: int

    def infer(self, tensors: Tensors) -> None:
        self.need(self.advance >= 1, f"advance of {self.advance} rows, allowed 1 or more")

    def compute(self, arrays: Arrays) -> None:
        arrays[self.token][0, 0] = best(arrays[self.logits][-1:])[0]
        arrays[self.pos][0, 0] += self.advance
