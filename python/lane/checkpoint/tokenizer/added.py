"""Cuts a text at the tokens that are matched as a whole: control, unknown and user-defined ones.

What enters is a text; what leaves is a list of texts and ids in order, no text empty. Longer tokens are matched
before shorter ones, each from left to right in what is still text.
"""

from collections.abc import Iterable
from dataclasses import dataclass

# Whitespace as a stripping token takes it in: that of ASCII.
_SPACE = " \t\n\v\f\r"


@dataclass(frozen=True)
class AddedToken:
    """A token matched as a whole. `strips` says whether it takes in the whitespace that follows it."""

    identity: int
    text: str
    is_hidden: bool
    strips: bool = False


def split_added(text: str, tokens: Iterable[AddedToken], parse_special: bool) -> list[str | int]:
    """The parts of `text`; hidden tokens are matched only with `parse_special`. `tokens` come longest first."""
    parts: list[str | int] = [text] if text else []
    for token in tokens:
        if token.text not in text or (token.is_hidden and not parse_special):
            continue
        cut: list[str | int] = []
        for part in parts:
            if isinstance(part, int):
                cut.append(part)
            else:
                cut.extend(_split(part, token))
        parts = cut
    return parts


def _split(text: str, token: AddedToken) -> Iterable[str | int]:
    first, *rest = text.split(token.text)
    if first:
        yield first
    for piece in rest:
        yield token.identity
        kept = piece.lstrip(_SPACE) if token.strips else piece
        if kept:
            yield kept
