"""Metadata that is wrong: each an error that names the key, what was found and what is allowed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lane.checkpoint.tokenizer import Tokenizer
from lane.errors import CheckpointError, LaneError, UnsupportedError
from tests.py.checkpoint.tokenizer_cases import load

Metadata = dict[str, Any]


def _metadata(name: str) -> Metadata:
    stored: Metadata = load(f"tokenizer/{name}.json")["metadata"]
    return {key: list(value) if isinstance(value, list) else value for key, value in stored.items()}


def _set(key: str, value: object) -> Callable[[Metadata], None]:
    return lambda metadata: metadata.__setitem__(f"tokenizer.ggml.{key}", value)


def _drop(key: str) -> Callable[[Metadata], None]:
    return lambda metadata: metadata.pop(f"tokenizer.ggml.{key}")


def _item(key: str, index: int, value: object) -> Callable[[Metadata], None]:
    return lambda metadata: metadata[f"tokenizer.ggml.{key}"].__setitem__(index, value)


def _cut(key: str) -> Callable[[Metadata], None]:
    return lambda metadata: metadata[f"tokenizer.ggml.{key}"].pop()


def _longer(key: str) -> Callable[[Metadata], None]:
    return lambda metadata: metadata[f"tokenizer.ggml.{key}"].append(1)


# Vocabulary, what is done to it, the message. The vocabularies have 477 (spm), 407 (gpt2) and 402 (gemma4) tokens.
CASES = [
    ("spm", _drop("model"), "tokenizer.ggml.model is missing, allowed is a string"),
    ("spm", _set("model", 3), "tokenizer.ggml.model is a int, allowed is a string"),
    ("spm", _drop("tokens"), "tokenizer.ggml.tokens is missing, allowed is an array of strings"),
    ("spm", _set("tokens", "abc"), "tokenizer.ggml.tokens is a str that is not all strings"),
    ("spm", _set("tokens", np.arange(5)), "tokenizer.ggml.tokens is a ndarray that is not all strings"),
    ("spm", _set("tokens", [["a"]]), "tokenizer.ggml.tokens is a list that is not all strings"),
    ("spm", _set("tokens", []), "tokenizer.ggml.tokens is empty, allowed is at least one token"),
    ("spm", _item("tokens", 9, 5), "tokenizer.ggml.tokens is a list that is not all strings"),
    ("spm", _item("tokens", 9, "\udc80"), r"tokenizer.ggml.tokens[9] is '\udc80', allowed is valid UTF-8"),
    (
        "spm",
        _item("tokens", 400, "<s>"),
        "tokenizer.ggml.tokens[1] and [400] are both '<s>', allowed is each text once",
    ),
    ("spm", _item("tokens", 9, "<0x-1>"), "tokenizer.ggml.tokens[9] is the byte token '<0x-1>', allowed is <0x00>"),
    ("spm", _item("tokens", 9, "<0x100>"), "tokenizer.ggml.tokens[9] is the byte token '<0x100>'"),
    ("spm", _item("tokens", 9, "<0x٣3>"), "tokenizer.ggml.tokens[9] is the byte token '<0x٣3>'"),
    ("spm", _item("tokens", 9, ""), "tokenizer.ggml.tokens[9] is the byte token '[EMPTY_9]'"),
    ("spm", _cut("token_type"), "tokenizer.ggml.token_type is 476 values long, allowed is one a token, 477"),
    ("spm", _longer("token_type"), "tokenizer.ggml.token_type is 478 values long, allowed is one a token, 477"),
    ("spm", _item("token_type", 3, 7), "tokenizer.ggml.token_type[3] is 7, allowed is 0 to 6"),
    ("spm", _item("token_type", 3, -1), "tokenizer.ggml.token_type[3] is -1, allowed is 0 to 6"),
    ("spm", _item("token_type", 3, 2.5), "tokenizer.ggml.token_type[3] is 2.5, allowed is 0 to 6"),
    ("spm", _set("token_type", ["a"] * 477), "tokenizer.ggml.token_type is of type <U1 and shape (477,)"),
    ("spm", _set("token_type", 4), "tokenizer.ggml.token_type is of type int64 and shape ()"),
    ("spm", _cut("scores"), "tokenizer.ggml.scores is 476 values long, allowed is one a token, 477"),
    ("spm", _longer("scores"), "tokenizer.ggml.scores is 478 values long, allowed is one a token, 477"),
    ("spm", _item("scores", 8, float("nan")), "tokenizer.ggml.scores[8] is nan, allowed is a finite number"),
    ("spm", _item("scores", 8, float("inf")), "tokenizer.ggml.scores[8] is inf, allowed is a finite number"),
    ("spm", _set("bos_token_id", 477), "tokenizer.ggml.bos_token_id is 477, allowed is a token id, 0 to 476"),
    ("spm", _set("eos_token_id", -1), "tokenizer.ggml.eos_token_id is -1, allowed is a token id, 0 to 476"),
    ("spm", _set("eot_token_id", 2**63), "tokenizer.ggml.eot_token_id is 9223372036854775808, allowed is a token id"),
    ("spm", _set("eos_token_id", "x"), "tokenizer.ggml.eos_token_id is a str, allowed is a token id"),
    ("spm", _set("add_bos_token", 1), "tokenizer.ggml.add_bos_token is a int, allowed is a boolean"),
    ("spm", _set("add_space_prefix", "no"), "tokenizer.ggml.add_space_prefix is a str, allowed is a boolean"),
    ("gpt2", _drop("merges"), "tokenizer.ggml.merges is missing, allowed is an array of strings"),
    ("gpt2", _set("merges", 7), "tokenizer.ggml.merges is a int that is not all strings"),
    ("gpt2", _item("merges", 5, "in"), "tokenizer.ggml.merges[5] is 'in', allowed are two tokens"),
    ("gpt2", _item("merges", 5, "in "), "tokenizer.ggml.merges[5] is 'in ', allowed are two tokens"),
    ("gpt2", _item("merges", 5, " in"), "tokenizer.ggml.merges[5] is ' in', allowed are two tokens"),
    ("gpt2", _item("merges", 5, "i  n"), "tokenizer.ggml.merges[5] is 'i  n', allowed are two tokens"),
    ("gpt2", _item("merges", 5, ""), "tokenizer.ggml.merges[5] is '', allowed are two tokens"),
    ("gpt2", _set("pre", 5), "tokenizer.ggml.pre is a int, allowed is a string"),
    ("gemma4", _drop("bos_token_id"), "tokenizer.ggml.bos_token_id is missing, allowed is an id"),
    ("gemma4", _drop("merges"), "tokenizer.ggml.merges is missing, allowed is an array of strings"),
]


@pytest.mark.parametrize(("name", "harm", "message"), CASES, ids=[message for *_, message in CASES])
def test_refused(name: str, harm: Callable[[Metadata], None], message: str) -> None:
    metadata = _metadata(name)
    harm(metadata)
    with pytest.raises(CheckpointError) as caught:
        Tokenizer.from_metadata(metadata)
    assert str(caught.value).startswith(f"tokenizer: {message}")


@pytest.mark.parametrize("kind", ["bert", "t5", "rwkv", "plamo2", "none", ""])
def test_kinds_that_are_not_known(kind: str) -> None:
    with pytest.raises(UnsupportedError, match=f"tokenizer.ggml.model is '{kind}', allowed is one of gemma4, gpt2"):
        Tokenizer.from_metadata({"tokenizer.ggml.model": kind})


def test_characters_that_no_token_can_spell() -> None:
    metadata = {"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": ["▁", "<s>", "</s>", "a", "b"]}
    tokenizer = Tokenizer.from_metadata(metadata)
    assert tokenizer.encode("ab") == [1, 0, 3, 4]
    with pytest.raises(UnsupportedError, match="has no <0xC3> for its byte 0xc3"):
        tokenizer.encode("é")


_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 500),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.text(max_size=3), max_size=5),
    st.lists(st.integers(-3, 9), max_size=5),
    st.lists(st.floats(), max_size=5),
)


@given(st.data())
def test_any_value_anywhere(data: st.DataObject) -> None:
    """A value of any type under any key: the tokenizer reads it or refuses it."""
    metadata = _metadata(data.draw(st.sampled_from(["spm", "gpt2", "gemma4"])))
    for key in data.draw(st.lists(st.sampled_from(sorted(metadata)), min_size=1, max_size=3)):
        metadata[key] = data.draw(_VALUES)
    try:
        tokenizer = Tokenizer.from_metadata(metadata)
        tokenizer.decode(tokenizer.encode("Hello <s> é"))
    except LaneError:
        pass
