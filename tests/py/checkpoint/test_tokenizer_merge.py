"""The merge against its definition, the cuts between words, and the time that hostile texts take."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lane.checkpoint.tokenizer.merge import merge
from tests.py.checkpoint.tokenizer_cases import small

_SYMBOLS = st.text(alphabet="abc", max_size=12)
_RANKS = st.dictionaries(
    st.tuples(st.text("abc", min_size=1, max_size=3), st.text("abc", min_size=1, max_size=3)).map(" ".join),
    st.integers(0, 6).map(float),
    max_size=30,
)


def _merge_by_definition(symbols: str, ranks: dict[str, float]) -> list[str]:
    text = list(symbols)
    while True:
        found = [(ranks[f"{a} {b}"], i) for i, (a, b) in enumerate(pairwise(text)) if f"{a} {b}" in ranks]
        if not found:
            return text
        _, i = min(found)
        text[i : i + 2] = [text[i] + text[i + 1]]


@given(_SYMBOLS, _RANKS)
def test_merge(symbols: str, ranks: dict[str, float]) -> None:
    assert merge(symbols, ranks.get, " ") == _merge_by_definition(symbols, ranks)


@given(st.text(alphabet="▁▁abHelo<s>\n", min_size=1, max_size=40))
@pytest.mark.parametrize("name", ["spm", "spm_phi3"])
def test_cuts_change_nothing(name: str, text: str) -> None:
    """A text encoded word by word, and as one."""
    tokenizer, stored = small(name)
    tokens = stored["metadata"]["tokenizer.ggml.tokens"]
    scores = dict(zip(tokens, stored["metadata"]["tokenizer.ggml.scores"], strict=True))
    ranks = {token: -score for token, score in scores.items()}
    symbols = merge("▁" + text, ranks.get)
    ids = tokenizer.encode(text, add_special=False, parse_special=False)
    # User-defined tokens are matched first; none can be spelled here.
    assert [tokens[i] for i in ids if not tokens[i].startswith("<0x")] == [s for s in symbols if s in scores]


# A quadratic algorithm would take a hundred times as long on these as on a tenth of them; a linear one takes ten times.
# The bound is half-way in between, 30, and the least that is measured is 10 ms, well above the clock's grain.
@pytest.mark.parametrize("text", ["a", " ", "\n", "<", "1", " \n", "é", "日", "'", "\x00", "aB", "▁"])
@pytest.mark.parametrize("name", ["spm", "gpt2", "gpt2_whole", "gemma4"])
def test_time_grows_no_faster_than_the_text(name: str, text: str) -> None:
    def seconds(chars: int) -> float:
        tokenizer, _ = small(name)
        tokenizer.encode(text)
        start = time.process_time()
        tokenizer.encode(text * (chars // len(text)))
        return time.process_time() - start

    assert seconds(50_000) < 30 * max(0.01, seconds(5_000))
