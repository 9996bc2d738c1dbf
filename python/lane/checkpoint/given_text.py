"""Text that knows which of its characters came with a conversation, through whatever a template makes of it.

Enters: the strings of a conversation, as `Given`. Leaves: the strings that a template makes of them and of its own.
Promise: no character of the conversation passes for the template's. What keeps its characters (`+`, slices, strip,
split, replace, join, case) is followed character by character; of anything else the whole result counts as given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, ValuesView
from functools import partial
from typing import Any

from jinja2 import Undefined

_GIVEN = b"\1"
_OWN = b"\0"
_RUNS = re.compile(_GIVEN + b"+")

Span = tuple[int, int]  # half-open


class Given(str):
    """A string, and of each of its characters whether it came with the conversation: of all, unless told otherwise."""

    _marks: bytes  # one a character; a template has no access to names that begin so

    def __new__(cls, text: str, marks: bytes | None = None) -> Given:
        self = super().__new__(cls, text)
        self._marks = _GIVEN * len(self) if marks is None else marks
        return self

    def __str__(self) -> str:
        return self

    def __iter__(self) -> Iterator[str]:
        return (self[at] for at in range(len(self)))


def marks_of(text: str) -> bytes:
    """A mark for each character; those of a plain string are the template's."""
    return text._marks if isinstance(text, Given) else _OWN * len(text)


def spans_of(text: str) -> list[Span]:
    """Where the characters are that came with the conversation."""
    return [match.span() for match in _RUNS.finditer(marks_of(text))]


def joined(parts: Iterable[str], between: str = "") -> str:
    """`between.join(parts)`."""
    known = list(parts)
    text = str.join(between, known)
    if not any(isinstance(part, Given) for part in (between, *known)):
        return text
    return Given(text, marks_of(between).join(map(marks_of, known)))


def text_of(value: object) -> str:
    """`str(value)`; of anything but a string, a number or nothing, what it holds shows in it and is wholly given."""
    is_own = value is None or isinstance(value, (str, bool, int, float, Undefined))
    return str(value) if is_own else Given(str(value))


def holds_given(value: object) -> bool:
    """Whether a value is, or a list or mapping has in it, text that came with the conversation."""
    if isinstance(value, dict):
        return any(holds_given(item) for pair in value.items() for item in pair)
    if isinstance(value, (list, tuple, KeysView, ValuesView, ItemsView)):
        return any(map(holds_given, value))
    return isinstance(value, Given)


def as_given(value: Any) -> Any:
    """A value made of JSON's, all of its strings given."""
    if isinstance(value, dict):
        return {as_given(key): as_given(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_given(item) for item in value]
    return Given(value) if isinstance(value, str) else value


def following(operation: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """An operation's result. Where an argument was given, plain strings are made such as are followed; a string that
    comes out and was not followed is wholly given."""
    if not holds_given([arguments, named]):
        return operation(*arguments, **named)
    return _unfollowed(operation(*map(_followed, arguments), **{name: _followed(named[name]) for name in named}))


def mixing(operation: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """The result of an operation that no one follows: where an argument was given, a string is wholly so."""
    result = operation(*arguments, **named)
    return Given(str(result)) if isinstance(result, str) and holds_given([arguments, named]) else result


def following_call(call: Callable[..., Any], called: Any, *arguments: Any, **named: Any) -> Any:
    """The same of `call(called, ...)`, where a method of a plain string is that of one that is followed."""
    owner = getattr(called, "__self__", None)
    if type(owner) is str and holds_given([arguments, named]):
        called = getattr(_followed(owner), called.__name__)
    return following(partial(call, called), *arguments, **named)


def _followed(value: Any) -> Any:
    return Given(value, _OWN * len(value)) if type(value) is str else value


def _unfollowed(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(map(_unfollowed, value))
    return Given(str(value)) if isinstance(value, str) and not isinstance(value, Given) else value


# --- what of str is followed ------------------------------------------------------------------------------------------


def _cut(self: Given, pieces: list[str], separator: str | None) -> list[str]:
    """The pieces as stretches of the text: they lie in it in order, `separator` (None: any whitespace) between them."""
    found, at = [], 0
    for piece in pieces:
        start = str.find(self, piece, at)
        found.append(self[start : start + len(piece)])
        at = start + len(piece) + len(separator or "")
    return found


def _add(self: Given, other: object) -> Any:
    return joined((self, other)) if isinstance(other, str) else NotImplemented


def _add_to(self: Given, other: object) -> Any:
    return joined((other, self)) if isinstance(other, str) else NotImplemented


def _item(self: Given, index: Any) -> str:
    marks = self._marks[index] if isinstance(index, slice) else bytes([self._marks[index]])
    return Given(str.__getitem__(self, index), marks)


def _times(self: Given, count: Any) -> Any:
    text = str.__mul__(self, count)
    return text if text is NotImplemented else Given(text, self._marks * count)


def _lstrip(self: Given, chars: str | None = None) -> str:
    return self[len(self) - len(str.lstrip(self, chars)) :]


def _rstrip(self: Given, chars: str | None = None) -> str:
    return self[: len(str.rstrip(self, chars))]


def _strip(self: Given, chars: str | None = None) -> str:
    return _rstrip(self, chars).lstrip(chars)


def _without_prefix(self: Given, prefix: str) -> str:
    return self[len(prefix) :] if self.startswith(prefix) else self


def _without_suffix(self: Given, suffix: str) -> str:
    return self[: len(self) - len(suffix)] if self.endswith(suffix) else self


def _split(self: Given, sep: str | None = None, maxsplit: int = -1) -> list[str]:
    return _cut(self, str.split(self, sep, maxsplit), sep)


def _rsplit(self: Given, sep: str | None = None, maxsplit: int = -1) -> list[str]:
    return _cut(self, str.rsplit(self, sep, maxsplit), sep)


def _lines(self: Given, keepends: bool = False) -> list[str]:
    return _cut(self, str.splitlines(self, keepends), None)


def _partition(self: Given, sep: str) -> tuple[str, ...]:
    return tuple(_cut(self, list(str.partition(self, sep)), ""))


def _rpartition(self: Given, sep: str) -> tuple[str, ...]:
    return tuple(_cut(self, list(str.rpartition(self, sep)), ""))


def _replace(self: Given, old: str, new: str, count: int = -1) -> str:
    return joined(_split(self, old, count), new) if old else Given(str.replace(self, old, new, count))


def _join(self: Given, parts: Iterable[str]) -> str:
    return joined(parts, self)


def _cased(change: Callable[[str], str]) -> Callable[[Given], str]:
    def method(self: Given) -> str:
        text = change(self)
        return Given(text, self._marks if len(text) == len(self) else None)

    return method


def _wholly(change: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Given, *arguments: Any, **named: Any) -> Any:
        text = change(self, *arguments, **named)
        return Given(text) if isinstance(text, str) else text

    return method


_METHODS: dict[str, Callable[..., Any]] = {
    "__add__": _add,
    "__radd__": _add_to,
    "__getitem__": _item,
    "__mul__": _times,
    "__rmul__": _times,
    "strip": _strip,
    "lstrip": _lstrip,
    "rstrip": _rstrip,
    "removeprefix": _without_prefix,
    "removesuffix": _without_suffix,
    "split": _split,
    "rsplit": _rsplit,
    "splitlines": _lines,
    "partition": _partition,
    "rpartition": _rpartition,
    "replace": _replace,
    "join": _join,
    **{name: _cased(getattr(str, name)) for name in ("lower", "upper", "swapcase", "casefold", "title", "capitalize")},
    **{
        name: _wholly(getattr(str, name))
        for name in ("center", "ljust", "rjust", "zfill", "expandtabs", "translate", "format", "format_map", "__mod__")
    },
}
for _name, _method in _METHODS.items():
    setattr(Given, _name, _method)
