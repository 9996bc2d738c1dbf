"""Choices taken from a fuzzer's bytes, first to last; where the bytes have run out, each choice is the first."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """A string of bytes, read as choices."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def more(self) -> bool:
        """Whether bytes are left."""
        return self._at < len(self._data)

    def bytes(self, count: int) -> bytes:
        """The next bytes, as many as there are of `count`."""
        taken = self._data[self._at : self._at + count]
        self._at += count
        return taken

    def below(self, bound: int) -> int:
        """A whole number from 0, under `bound`."""
        return int.from_bytes(self.bytes(1 if bound <= 256 else 2), "little") % bound

    def one_of(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.below(len(options))]
