"""How much text an id can stand for, and texts that are too long: refused in the time that it takes to see it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lane.checkpoint.tokenizer import Tokenizer
from lane.checkpoint.tokenizer.bpe import _BYTE_TO_CHAR
from lane.errors import CapacityError, UsageError

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
    assert len(text.encode()) <= len(tokenizer.encode(text, add_special=False)) * tokenizer.longest_bytes


def test_the_bound_is_met() -> None:
    tokenizer = TOKENIZERS[0]
    assert tokenizer.longest_bytes == 4 == len("aaaa")
    assert len(tokenizer.encode("aaaa", add_special=False)) == 1


def test_what_comes_to_nothing_is_beside_it() -> None:
    fewer = byte_level(BYTES[: ord("z")], [])
    assert fewer.encode("z" * 100, add_special=False) == []
    assert fewer.prompt("z" * 100 * fewer.longest_bytes, most=100) == []
    with pytest.raises(CapacityError, match=r"a text of 201 bytes, allowed 200, as many as 100 tokens \(the context\)"):
        fewer.prompt("z" * 201, most=100)


# One letter, ten million times, as vocabularies of each kind have it, the ones that lack bytes or strip spaces among
# them: none takes longer to be refused than to be counted. A merge of all of it takes most of a minute.
LONG = [
    *TOKENIZERS,
    byte_level(BYTES[:-1], []),
    byte_level([*BYTES, "a" * 10_000], []),
    byte_level(BYTES, [], **{"general.name": "phi-3"}),
    byte_level([*BYTES, "aa", *(f"<{i}>" for i in range(500))], ["a a", "aa aa"]),
]


@pytest.mark.parametrize("tokenizer", LONG)
@pytest.mark.parametrize("text", ["a" * 10**7, " " * 10**7, "ab " * 3 * 10**6, "é" * 5 * 10**6])
def test_a_text_of_any_length_is_refused_at_once(tokenizer: Tokenizer, text: str) -> None:
    """Processor time, since other programs may run: refusals take tenths of a second."""
    start = time.process_time()
    with pytest.raises(CapacityError, match=r"\(the context\)"):
        tokenizer.prompt(text, most=4096)
    assert time.process_time() - start < 5


def test_many_tokens_in_one_text_are_refused_at_once() -> None:
    """Each token cuts every part that those before it left: without a bound, as many steps as both multiplied."""
    texts = [f"<{i}>" for i in range(2000)]
    keys = {"model": "gpt2", "tokens": [*BYTES, *texts], "merges": [], "token_type": [1] * 256 + [3] * 2000}
    tokenizer = Tokenizer.from_metadata({f"tokenizer.ggml.{key}": value for key, value in keys.items()})
    text = "".join(texts) * 200
    start = time.process_time()
    with pytest.raises(CapacityError, match="more than 4096 tokens"):
        tokenizer.prompt(text[: 4096 * tokenizer.longest_bytes], most=4096)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=["gpt2", "llama"])
@given(text=st.text(st.sampled_from("a ▁é€😀\n"), max_size=40), most=st.integers(1, 40))
def test_a_bound_refuses_what_exceeds_it_alone(tokenizer: Tokenizer, text: str, most: int) -> None:
    ids = tokenizer.encode(text)
    if len(ids) <= most:
        assert tokenizer.prompt(text, most=most) == ids
    else:
        with pytest.raises(CapacityError):
            tokenizer.prompt(text, most=most)


@pytest.mark.parametrize("text", [None, 5, b"x", ["a"]])
def test_what_is_no_text(text: str) -> None:
    with pytest.raises(UsageError, match=r"tokenizer: the text is .*, allowed a string"):
        TOKENIZERS[0].encode(text)
