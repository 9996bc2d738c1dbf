"""Cuts a text at the tokens that are matched as a whole: control, unknown and user-defined ones.

What enters is a text, and which spans of it were given to whoever wrote the rest; what leaves is a list of texts and
ids in order, no text empty. Longer tokens are matched before shorter ones, each from left to right in what is still
text. What was given holds no control tokens, nor those that the rest uses as such.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

Span = tuple[int, int]  # half-open

# Whitespace as a stripping token takes it in: that of ASCII.
_SPACE = " \t\n\v\f\r"


@dataclass(frozen=True)
class AddedToken:
    """A token matched as a whole. `strips` says whether it takes in the whitespace that follows it."""

    identity: int
    text: str
    is_hidden: bool
    strips: bool = False


class Given:
    """The spans of a text that were given: disjoint, in order."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = spans
        self._ends = [end for _, end in spans]

    def __bool__(self) -> bool:
        return bool(self._spans)

    def touches(self, start: int, end: int) -> bool:
        """Whether any character of [start, end) was given."""
        at = bisect_left(self._ends, start + 1)
        return at < len(self._spans) and self._spans[at][0] < end


def split_added(
    text: str, tokens: Iterable[AddedToken], parse_special: bool, given: Sequence[Span] = (), most: int | None = None
) -> list[str | int]:
    """The parts of `text`; hidden tokens are matched only with `parse_special`. `tokens` come longest first.

    A token that is not hidden is matched in what was given too, unless it is a mark that the rest bears: one such as
    `<start_of_turn>`, which some files do not call control. Once more than `most` ids are found the cutting ends.
    """
    parts: list[Span | int] = [(0, len(text))] if text else []
    spans = Given(given)
    found = 0
    for token in tokens:
        if token.text not in text or (token.is_hidden and not parse_special):
            continue
        kept_out = spans if token.is_hidden or _is_mark(text, token, spans) else Given(())
        parts = [cut for part in parts for cut in _cut(text, part, token, kept_out)]
        found = sum(isinstance(part, int) for part in parts)
        if most is not None and found > most:
            break
    return [part if isinstance(part, int) else text[slice(*part)] for part in parts]


def _is_mark(text: str, token: AddedToken, given: Given) -> bool:
    if not given or token.text.isspace():
        return False
    return any(not given.touches(*span) for span in _places(text, (0, len(text)), token.text, Given(())))


def _cut(text: str, part: Span | int, token: AddedToken, kept_out: Given) -> Iterator[Span | int]:
    if isinstance(part, int):
        yield part
        return
    at, end = part
    strips = False
    for start, after in (*_places(text, part, token.text, kept_out), (end, None)):
        while strips and at < start and text[at] in _SPACE:
            at += 1
        if at < start:
            yield at, start
        if after is not None:
            yield token.identity
            at, strips = after, token.strips


def _places(text: str, within: Span, wanted: str, kept_out: Given) -> Iterator[Span]:
    """Where `wanted` is, from left to right, no two overlapping, none of it kept out."""
    at, end = within
    while (at := text.find(wanted, at, end)) >= 0:
        if kept_out and kept_out.touches(at, at + len(wanted)):
            at += 1
        else:
            yield at, at + len(wanted)
            at += len(wanted)
