"""Text to ids and back, on small vocabularies of each kind, against llama.cpp's ids."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lane.checkpoint.tokenizer import Tokenizer
from lane.errors import CheckpointError, UsageError
from tests.py.checkpoint.tokenizer_cases import SMALL, mismatches, small


@pytest.mark.parametrize("name", SMALL)
def test_ids(name: str) -> None:
    tokenizer, stored = small(name)
    assert list(mismatches(tokenizer, stored["cases"])) == []


@pytest.mark.parametrize("name", SMALL)
def test_pieces_and_stops(name: str) -> None:
    tokenizer, stored = small(name)
    assert tokenizer.vocab_size == len(stored["pieces"])
    assert [tokenizer.token_bytes(i).hex() for i in range(tokenizer.vocab_size)] == stored["pieces"]
    assert sorted(tokenizer.stop_ids) == stored["stop_ids"]


@pytest.mark.parametrize("name", SMALL)
def test_decode_gives_the_text_back(name: str) -> None:
    tokenizer, stored = small(name)
    for case in stored["cases"]:
        for parse in (False, True):
            ids = tokenizer.encode(case["text"], add_special=False, parse_special=parse)
            # U+2581 is how these kinds write a space, so it comes back as one.
            if tokenizer.kind == "gpt2" or "▁" not in case["text"]:
                assert _without_stripped(tokenizer, tokenizer.decode(ids)) == _without_stripped(tokenizer, case["text"])


def _without_stripped(tokenizer: Tokenizer, text: str) -> str:
    """Where special tokens take in whitespace, or get a space after them, that is not given back."""
    if not tokenizer.rules.adds_space:
        return text
    return "".join(text.split()) if "<" in text else text


@given(st.text())
@pytest.mark.parametrize("name", ["spm", "spm_no_prefix"])
def test_any_text_comes_back(name: str, text: str) -> None:
    tokenizer, _ = small(name)
    text = text.replace("▁", "").replace("<", "")
    ids = tokenizer.encode(text, add_special=False)
    assert tokenizer.decode(ids) == text


def test_special_tokens_are_left_out_on_demand() -> None:
    tokenizer, _ = small("spm")
    ids = tokenizer.encode("Hello", add_special=True)
    assert ids[0] == tokenizer.bos_id
    assert tokenizer.decode(ids) == "<s> Hello"
    assert tokenizer.decode(ids, skip_special=True) == "Hello"


def test_roles() -> None:
    tokenizer, stored = small("gpt2_whole")
    tokens = stored["metadata"]["tokenizer.ggml.tokens"]
    assert (tokenizer.kind, tokenizer.pre) == ("gpt2", "llama-bpe")
    assert tokenizer.eos_id == tokenizer.bos_id == tokens.index("<|endoftext|>")
    assert tokenizer.eot_id == tokens.index("<|im_end|>")
    # <|end|> ends a generation, but not where there are <|return|> and <|call|>.
    assert tokens.index("<|end|>") not in tokenizer.stop_ids


def test_names_that_a_file_does_not_give() -> None:
    """Token 11 is what llama.cpp takes to end a text; here it is a letter, and ends nothing."""
    metadata: dict[str, object] = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": [chr(ord("a") + i) for i in range(12)],
        "tokenizer.ggml.merges": [],
    }
    tokenizer = Tokenizer.from_metadata(metadata)
    assert (tokenizer.pre, tokenizer.bos_id, tokenizer.eos_id, tokenizer.eot_id) == ("default", None, None, None)
    assert tokenizer.stop_ids == frozenset()
    # What no token spells is dropped: there is no byte to fall back to.
    assert tokenizer.encode("abxé") == [0, 1]


def test_a_token_that_ends_texts_by_default() -> None:
    """Falcon's, which the default is of: a control token."""
    tokens = [chr(ord("a") + i) for i in range(11)] + ["<|end|>"]
    keys = {"model": "gpt2", "pre": "falcon", "tokens": tokens, "merges": [], "token_type": [1] * 11 + [3]}
    tokenizer = Tokenizer.from_metadata({f"tokenizer.ggml.{key}": value for key, value in keys.items()})
    assert (tokenizer.bos_id, tokenizer.eos_id, tokenizer.stop_ids) == (11, 11, {11})


def test_ordinary_tokens_begin_and_end_no_text() -> None:
    """Of the other kind the defaults are 1 and 2."""
    keys = {"model": "llama", "tokens": ["▁", "a", "b"], "scores": [0, 0, 0], "token_type": [1, 1, 1]}
    metadata = {f"tokenizer.ggml.{key}": value for key, value in keys.items()}
    with pytest.raises(CheckpointError, match="bos_token_id is missing, allowed is an id since texts get that token"):
        Tokenizer.from_metadata(metadata)
    tokenizer = Tokenizer.from_metadata({**metadata, "tokenizer.ggml.add_bos_token": False})
    assert tokenizer.stop_ids == frozenset()


WHAT_IS_MISSING = [
    ("gpt2", "pre", "texts are cut by a default rule"),
    ("gpt2", "token_type", "control tokens only where their text is a known one"),
    ("gpt2", "eos_token_id", "a text ends at '"),
    ("spm", "scores", "merged from the left"),
    ("spm", "bos_token_id", "texts begin with '<s>'"),
    ("spm", "eos_token_id", "a text ends at '</s>' (2)"),
    ("gemma4", "eos_token_id", "a text ends at '"),
]


@pytest.mark.parametrize(("name", "key", "said"), WHAT_IS_MISSING)
def test_what_a_file_leaves_open_is_said(name: str, key: str, said: str) -> None:
    _, stored = small(name)
    whole = {**stored["metadata"]}
    for there, value in (("pre", "llama-bpe"), ("eos_token_id", 2), ("bos_token_id", 1)):
        whole.setdefault(f"tokenizer.ggml.{there}", value)
    assert Tokenizer.from_metadata(whole).warnings == ()
    del whole[f"tokenizer.ggml.{key}"]
    (warning,) = Tokenizer.from_metadata(whole).warnings
    assert warning.startswith(f"tokenizer: tokenizer.ggml.{key} is missing: ") and said in warning


def test_merges_that_make_no_token() -> None:
    """llama.cpp's rule: the merge counts, and what it makes is then spelt by the tokens of its bytes."""
    keys = {"model": "gpt2", "pre": "gpt-2", "tokens": ["a", "b", "c", "bc"], "merges": ["a b", "b c"]}
    metadata = {f"tokenizer.ggml.{key}": value for key, value in keys.items()}
    tokenizer = Tokenizer.from_metadata(metadata)
    assert tokenizer.encode("abc") == [0, 1, 2]
    assert tokenizer.encode("bcabc") == [3, 0, 1, 2]
    assert any("1 merges that make no token, the first 'a b'" in warning for warning in tokenizer.warnings)


@pytest.mark.parametrize("name", ["spm", "gemma4"])
def test_a_prompt_begins_with_bos_once(name: str) -> None:
    """`encode` gives llama.cpp's ids, which double it."""
    tokenizer, stored = small(name)
    assert tokenizer.bos_id is not None
    bos = stored["metadata"]["tokenizer.ggml.tokens"][tokenizer.bos_id]
    assert tokenizer.encode(bos + "Hello")[:2] == [tokenizer.bos_id] * 2
    assert tokenizer.prompt(bos + "Hello") == tokenizer.encode(bos + "Hello")[1:]
    assert tokenizer.prompt("Hello") == tokenizer.encode("Hello")
    typed = tokenizer.prompt(bos + "Hello", parse_special=False)
    assert typed[0] == tokenizer.bos_id and tokenizer.bos_id not in typed[1:]


def test_a_prompt_has_no_end_token() -> None:
    """It is to be continued, also where the file asks for one after each text."""
    _, stored = small("spm")
    tokenizer = Tokenizer.from_metadata({**stored["metadata"], "tokenizer.ggml.add_eos_token": True})
    assert tokenizer.encode("Hello")[-1] == tokenizer.eos_id
    assert tokenizer.prompt("Hello") == tokenizer.encode("Hello")[:-1]


def test_arrays_may_be_numpy() -> None:
    _, stored = small("spm")
    metadata = dict(stored["metadata"])
    metadata["tokenizer.ggml.scores"] = np.asarray(metadata["tokenizer.ggml.scores"], np.float32)
    metadata["tokenizer.ggml.token_type"] = np.asarray(metadata["tokenizer.ggml.token_type"], np.int32)
    metadata["tokenizer.ggml.bos_token_id"] = np.uint32(1)
    metadata["tokenizer.ggml.add_bos_token"] = np.bool_(True)
    assert list(mismatches(Tokenizer.from_metadata(metadata), stored["cases"])) == []


def test_what_the_user_gets_wrong() -> None:
    tokenizer, _ = small("spm")
    with pytest.raises(UsageError, match="character 1 of the text is '\\\\ud800', a lone surrogate"):
        tokenizer.encode("a\ud800")
    last = tokenizer.vocab_size - 1
    for wrong in (-1, last + 1, 1.0, "1", None, True):
        with pytest.raises(UsageError, match=f"token id is {wrong!r}, allowed a whole number, 0 to {last}"):
            tokenizer.decode([wrong])  # type: ignore[list-item]
    assert tokenizer.decode(np.array([last], np.int32)) == tokenizer.decode([last])


def test_stream_holds_back_what_is_not_complete() -> None:
    tokenizer, _ = small("spm")
    ids = tokenizer.encode("a\U0010ffffé", add_special=False)
    stream = tokenizer.stream()
    texts = [stream.push(identity) for identity in ids]
    assert "".join(texts) == " a\U0010ffffé"
    assert "\ufffd" not in "".join(texts) and "" in texts
    assert stream.flush() == ""


def test_stream_ends_in_the_middle_of_a_character() -> None:
    tokenizer, _ = small("spm")
    _, first, second, *_ = tokenizer.encode("\U0010ffff", add_special=False)
    stream = tokenizer.stream()
    assert [stream.push(first), stream.push(second), stream.flush()] == ["", "", "\ufffd"]
    assert stream.push(tokenizer.encode("Hello", add_special=False)[0]) == " H"


@pytest.mark.parametrize("name", SMALL)
def test_stream_equals_decode(name: str) -> None:
    tokenizer, stored = small(name)
    for case in stored["cases"]:
        ids = case["add1_parse1"]
        stream = tokenizer.stream(skip_special=False)
        text = "".join(map(stream.push, ids)) + stream.flush()
        expected = b"".join(map(tokenizer.token_bytes, ids)).decode("utf-8", "replace")
        assert text == expected


def test_stream_leaves_special_tokens_out() -> None:
    tokenizer, _ = small("spm")
    stream = tokenizer.stream()
    assert "".join(map(stream.push, tokenizer.encode("Hello"))) == " Hello"
