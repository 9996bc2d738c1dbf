"""Reads a launch's words as `lane_records.h` says: an interpreter of the decode functions that it holds.

Enters: the header's text, words, the names of buffers by number. Leaves: nested dictionaries and lists of plain values.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any


class RecordReader:
    """Takes words one after the other, as the header's `Words` does."""

    def __init__(self, header: str, words: Sequence[int], names: Sequence[str]) -> None:
        self._fields = {
            name: re.findall(r"^        \.(\w+) = (.*),$", body, re.M)
            for name, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};", header, re.M | re.S)
        }
        self._words = list(words)
        self._names = names

    def record(self, name: str) -> dict[str, Any]:
        """The fields of the struct of this name."""
        return {field: self._value(expression) for field, expression in self._fields[name]}

    @property
    def left(self) -> int:
        """Words that nothing has taken."""
        return len(self._words)

    def _value(self, expression: str) -> Any:
        if optional := re.fullmatch(r"w\.flag\(\) \? std::optional<.*?>\((.*)\) : std::nullopt", expression):
            return self._value(optional[1]) if self._next() else None
        if nested := re.fullmatch(r"(\w+)::decode\(w\)", expression):
            return self.record(nested[1])
        if repeated := re.fullmatch(r"w\.list<(\w+)>\(\)", expression):
            return [self.record(repeated[1]) for _ in range(self._next())]
        if choice := re.fullmatch(r'w\.one_of<(.*)>\("\w+"\)', expression):
            kind = choice[1].split(", ")[self._next()]
            return {"kind": kind, **self.record(kind)}
        if re.fullmatch(r'w\.choice<\w+>\("\w+", \d+\)', expression):
            return self._next()
        return self._word(expression)

    def _word(self, expression: str) -> Any:
        word = self._next()
        match expression:
            case "w.next()":
                return word
            case "w.ref()":
                return None if word == -1 else self._names[word]
            case "w.real()":
                return struct.unpack("<d", struct.pack("<q", word))[0]
            case "w.flag()":
                return word != 0
        raise AssertionError(f"the header reads '{expression}', which is no way to read a field")

    def _next(self) -> int:
        return self._words.pop(0)
