"""How much text an id can stand for: a bound that no text exceeds, and none where text may come to nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lane.checkpoint.tokenizer import Tokenizer
from lane.checkpoint.tokenizer.bpe import _BYTE_TO_CHAR
from lane.errors import UsageError

BYTES = [_BYTE_TO_CHAR[byte] for byte in range(256)]
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]


def byte_level(tokens: list[str], merges: list[str], **more: object) -> Tokenizer:
    keys = {"model": "gpt2", "tokens": tokens, "merges": merges}
    return Tokenizer.from_metadata({**{f"tokenizer.ggml.{key}": value for key, value in keys.items()}, **more})


def sentencepiece() -> Tokenizer:
    tokens = ["<unk>", "<s>", "</s>", *BYTE_TOKENS, "▁", "▁▁", "a", "aa"]
    types = [2, 3, 3, *[6] * 256, 1, 1, 1, 1]
    keys = {"model": "llama", "tokens": tokens, "token_type": types}
    return Tokenizer.from_metadata({f"tokenizer.ggml.{key}": value for key, value in keys.items()})


TOKENIZERS = [byte_level([*BYTES, "aa", "aaaa"], ["a a", "aa aa"]), sentencepiece()]


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=["gpt2", "llama"])
@given(text=st.text(st.sampled_from("a ▁é€😀\n")))
def test_no_text_exceeds_it(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.longest_bytes is not None
    assert len(text.encode()) <= len(tokenizer.encode(text, add_special=False)) * tokenizer.longest_bytes


def test_the_bound_is_met() -> None:
    tokenizer = TOKENIZERS[0]
    assert tokenizer.longest_bytes == 4 == len("aaaa")
    assert len(tokenizer.encode("aaaa", add_special=False)) == 1


def test_there_is_none_where_text_may_come_to_nothing() -> None:
    fewer = byte_level(BYTES[: ord("z")], [])
    assert fewer.encode("z" * 100, add_special=False) == []
    assert fewer.longest_bytes is None
    assert byte_level(BYTES, [], **{"general.name": "phi-3"}).longest_bytes is None


@pytest.mark.parametrize("text", [None, 5, b"x", ["a"]])
def test_what_is_no_text(text: str) -> None:
    with pytest.raises(UsageError, match=r"tokenizer: the text is .*, allowed a string"):
        TOKENIZERS[0].encode(text)
