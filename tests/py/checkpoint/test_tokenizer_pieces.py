"""Pre-tokenizers against the pieces that llama.cpp cuts, and the classes of characters against Python's own."""

import unicodedata

import pytest

from lane.checkpoint.tokenizer.pretokenizers import NAMES, find_pre_tokenizer
from lane.checkpoint.tokenizer.unicode_classes import WHITESPACE, class_of
from lane.errors import UnsupportedError
from tests.py.checkpoint.tokenizer_cases import load


def _stored() -> dict[str, list[list[int]]]:
    return {name: row["of_texts"] for row in load("tokenizer/pieces.json")["lengths"] for name in row["names"]}


def test_every_row_has_cases() -> None:
    assert set(NAMES) == set(_stored())


@pytest.mark.parametrize("name", NAMES)
def test_pieces(name: str) -> None:
    row = find_pre_tokenizer(name)
    for text, lengths in zip(load("tokenizer/pieces.json")["texts"], _stored()[name], strict=True):
        pieces = list(row.split(text))
        assert "".join(pieces) == text
        assert [len(piece) for piece in pieces] == lengths, f"{text!r} into {pieces}"


def test_unknown_name() -> None:
    with pytest.raises(UnsupportedError, match=r"tokenizer\.ggml\.pre is 'gpt-9', allowed is one of a\.x-4\.0,"):
        find_pre_tokenizer("gpt-9")


def test_classes_are_those_of_unicode() -> None:
    """Where both versions assign a code point: a later version assigns more, and changes very few."""
    differing = [
        code
        for code in range(0x110000)
        if class_of(code) != _class(code) and unicodedata.category(chr(code)) != "Cn" and not _is_later(code)
    ]
    assert differing == []


def _class(code: int) -> str:
    major = unicodedata.category(chr(code))[0]
    return major if major in "LMNPS" else "O"


def _is_later(code: int) -> bool:
    """Whether Python may assign what Unicode 15.1 does not."""
    return unicodedata.unidata_version > "15.1" and class_of(code) == "O"


def test_whitespace_is_that_of_unicode() -> None:
    # Python takes the separators U+001C to U+001F for whitespace; Unicode does not.
    assert {code for code in range(0x110000) if chr(code).isspace()} - set(range(0x1C, 0x20)) == WHITESPACE
