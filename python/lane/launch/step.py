"""The launch that closes a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lane.launch.fields import Extent, Read, Region, TouchIndex
from lane.launch.meaning.choice import best
from lane.launch.record import Launch, Memory, Record


@dataclass(frozen=True)
class Generated(Record):
    """The run of tokens that a program has generated, and how many those are."""

    tokens: TouchIndex
    count: TouchIndex


@dataclass(frozen=True)
class ArgMax(Launch):
    """token = arg-max of the last of `rows` rows of `n` logits (the lowest index of equals); pos advances by `advance`.

    A NaN logit is never chosen; a row of nothing but NaN chooses 0. In a `batch` every row has a token and a position
    of its own. `generated` takes the token, or a batch's tokens in a row, at its end.
    """

    kind: ClassVar[str] = "argmax"

    x: Read
    token: TouchIndex
    pos: TouchIndex
    n: int
    rows: int
    advance: int
    generated: Generated | None = None
    batch: bool = False

    def extent(self, field: str, of: Record) -> Extent | None:
        return Region((self.rows - self._chosen) * self.n, self._chosen * self.n) if field == "x" else None

    def compute(self, memory: Memory) -> None:
        x = memory.plain(self.x)[: self.rows * self.n].reshape(self.rows, self.n)[-self._chosen :]
        tokens = best(x)
        memory.plain(self.token)[: self._chosen] = tokens
        memory.plain(self.pos)[: self._chosen] += self.advance
        if self.generated is not None:
            count = memory.plain(self.generated.count)
            at = int(count[0]) * self._chosen
            memory.plain(self.generated.tokens)[at : at + self._chosen] = tokens
            count[0] += 1

    def operations(self, position: int | None = None) -> int:
        return self._chosen * self.n

    @property
    def _chosen(self) -> int:
        return self.rows if self.batch else 1
