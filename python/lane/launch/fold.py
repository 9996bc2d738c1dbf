"""The launch that runs two others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from lane.launch.attention import RopeParts
from lane.launch.data import Gather
from lane.launch.fields import Access, Extent, Mode
from lane.launch.norm import Norm
from lane.launch.projection import GemmParts, Gemv
from lane.launch.record import Launch, Memory, Record


@dataclass(frozen=True)
class Fold(Launch):
    """`first`, then `then` over what it wrote, in the blocks that finish it."""

    kind: ClassVar[str] = "fold"

    first: Gather | Gemv | GemmParts
    then: Norm | RopeParts

    def accesses(self) -> Iterator[Access]:
        """Those of both; what `then` reads of what `first` wrote is no read of what was there before."""
        first = list(self.first.accesses())
        made = {(access.name, access.storage) for access in first if access.mode is not Mode.READ}
        then = [a for a in self.then.accesses() if a.mode is not Mode.READ or (a.name, a.storage) not in made]
        yield from sorted([*first, *then], key=lambda access: access.mode is not Mode.READ)

    def extent(self, field: str, of: Record) -> Extent | None:
        raise AssertionError("a fold's accesses are those of its two launches")

    def compute(self, memory: Memory) -> None:
        self.first.compute(memory)
        self.then.compute(memory)

    def operations(self, position: int | None = None) -> int:
        return self.first.operations(position) + self.then.operations(position)
