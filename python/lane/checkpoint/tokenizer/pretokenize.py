r"""Cuts a text into the pieces within which byte-level BPE merges: one row for each `tokenizer.ggml.pre`.

What enters is a text; what leaves are pieces that joined give it back. A row is a list of patterns applied one after
another, each inside the pieces that the one before it left: a match is a piece, and so is the stretch between two.

A pattern that uses `\p{..}` runs over the *classes* of the text: ASCII as it is, any other character replaced by one
that stands for its Unicode class. It so needs neither the thousands of ranges of `\p{L}` nor a regex library that
knows them, and follows one version of Unicode. Other patterns run over the text itself. In both, a whitespace
character beyond ASCII reads as a vertical tab, which `\s` takes in.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain

from lane.checkpoint.tokenizer.unicode_classes import WHITESPACE, class_of, is_han

# What each class is in patterns: its ASCII members, and the characters that all its others are replaced by. H is
# the blocks of Han characters, which some models set apart: all but a few of them letters.
NOT_HAN = "\x80"
_HAN = "\x81"
_HAN_UNASSIGNED = "\x82"
OTHER_LETTERS = NOT_HAN + _HAN
_CLASS_MARKS = {
    "L": OTHER_LETTERS,
    "H": _HAN + _HAN_UNASSIGNED,
    "M": "\x83",
    "N": "\x84",
    "P": "\x85",
    "S": "\x86",
    "O": "\x87",
}
_CLASS_ASCII = {"L": "A-Za-z", "M": "", "N": "0-9", "P": r"!-#%-*,-/:;?@\[-\]_{}", "S": "$+<=>^`|~", "H": ""}
_SPACE_MARK = "\v"
_SPACE = r"\t-\r "


@dataclass(frozen=True)
class PreTokenizer:
    """One row. Flags beside the patterns are what else llama.cpp takes from the name.

    `whole_pieces`: a piece that is a token is that token, whatever the merges say; `whole_newlines`: so is a piece of
    newlines. `adds_bos`: the default where the file does not say; `always_bos`: whatever it says. `has_bos`: whether
    BOS has a default id. `is_byte_level`: symbols are bytes, written in GPT-2's alphabet; else they are characters,
    a space is written as U+2581, and a byte is a token `<0xHH>`.
    """

    names: tuple[str, ...]
    patterns: tuple[str, ...]
    whole_pieces: bool = False
    whole_newlines: bool = False
    adds_bos: bool = False
    always_bos: bool = False
    has_bos: bool = True
    is_byte_level: bool = True

    def split(self, text: str) -> Iterator[str]:
        """The pieces, each cut when it is asked for."""
        pieces = iter((text,))
        for pattern in map(_compile, self.patterns):
            pieces = chain.from_iterable(map(pattern.split, pieces))
        return pieces


@dataclass(frozen=True)
class _Pattern:
    regex: re.Pattern[str]
    is_classed: bool

    def split(self, text: str) -> Iterator[str]:
        subject = text if text.isascii() else text.translate(_CLASSES if self.is_classed else _SPACES)
        done = 0
        for match in self.regex.finditer(subject):
            start, end = match.span()
            if start > done:
                yield text[done:start]
            if end > start:
                yield text[start:end]
            done = end
        if done < len(text):
            yield text[done:]


class _Classes(dict[int, str]):
    """What `str.translate` replaces a character by, found when it is first met."""

    def __missing__(self, code_point: int) -> str:
        name = class_of(code_point)
        if code_point in WHITESPACE:
            mark = _SPACE_MARK
        elif is_han(code_point):
            mark = _HAN if name == "L" else _HAN_UNASSIGNED
        else:
            mark = _CLASS_MARKS[name][0]
        self[code_point] = mark
        return mark


_CLASSES = _Classes({code: chr(code) for code in range(128)})
_SPACES = {code: _SPACE_MARK for code in WHITESPACE if code >= 128}


@cache
def _compile(pattern: str) -> _Pattern:
    r"""Writes `\p{X}`, `\s` and `\S` out as the characters they stand for, within brackets or without."""
    is_classed = "\\p{" in pattern
    written = []
    inside = False
    for part in re.findall(r"\\p\{[A-Z]\}|\\.|.", pattern, re.DOTALL):
        if part.startswith("\\p"):
            members = _CLASS_ASCII[part[3]] + _CLASS_MARKS[part[3]]
        elif part == "\\s":
            members = _SPACE
        else:
            inside = (inside or part == "[") and part != "]"
            written.append(f"[^{_SPACE}]" if part == "\\S" else part)
            continue
        written.append(members if inside else f"[{members}]")
    return _Pattern(re.compile("".join(written)), is_classed)
