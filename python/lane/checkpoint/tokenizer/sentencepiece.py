"""SentencePiece's merging by score (`tokenizer.ggml.model` llama), with byte fallback.

What enters is text without special tokens; what leaves are ids. A space is written as U+2581; neighbouring symbols
are merged whenever together they are a token, the highest score first. A character that is no token becomes the
tokens `<0xHH>` of its bytes.
"""

import re
from functools import cached_property

import numpy as np

from lane.checkpoint.tokenizer.merge import merge
from lane.checkpoint.tokenizer.metadata import Metadata, numbers
from lane.checkpoint.tokenizer.vocabulary import SPACE, Vocabulary
from lane.checkpoint.tokenizer.word_cache import WordCache, longest_of
from lane.errors import UnsupportedError

# A character that no token can hold, since tokens are valid UTF-8.
_BETWEEN = "\ud800"


class SentencePieceEncoder:
    """Ids of texts, texts of ids. A file without scores merges from the left."""

    def __init__(self, metadata: Metadata, vocabulary: Vocabulary, adds_space: bool) -> None:
        self._vocabulary = vocabulary
        tokens = vocabulary.tokens
        scores = numbers(metadata, "tokenizer.ggml.scores", len(tokens))
        self._ranks: list[float] = (np.zeros(len(tokens)) if scores is None else -scores.astype(np.float64)).tolist()
        self._adds_space = adds_space
        self._cut = _find_cuts(tokens)
        self._words = WordCache(self._encode_word, self._fewest)

    def encode(self, text: str, starts: bool, most: int | None) -> list[int]:
        """The ids of `text`; where it starts a text or follows a special token, a space may be put before it."""
        if self._adds_space and starts:
            text = " " + text
        return self._words.encode(self._cut.split(text.replace(" ", SPACE)), most)

    def normal_bytes(self, text: str) -> bytes:
        """The bytes that a normal token of this text stands for."""
        return text.replace(SPACE, " ").encode()

    def _encode_word(self, word: str) -> list[int]:
        ids = self._vocabulary.ids
        result: list[int] = []
        for symbol in merge(word, self._rank_of):
            identity = ids.get(symbol)
            if identity is not None:
                result.append(identity)
            else:
                result.extend(self._byte_id(byte) for byte in symbol.encode())
        return result

    def _fewest(self, word: str) -> int:
        """How many ids a word comes to at least: a character that is no token comes to one for each of its bytes."""
        tokens = self._vocabulary.tokens
        longest = longest_of((*tokens, *set(word)), word)
        return -(-len(word) // longest)

    def _rank_of(self, text: str) -> float | None:
        identity = self._vocabulary.ids.get(text)
        return None if identity is None else self._ranks[identity]

    def _byte_id(self, byte: int) -> int:
        identity = self._byte_ids[byte]
        if identity is None:
            raise UnsupportedError(
                f"tokenizer: the text holds a character that is no token, and tokenizer.ggml.tokens has no"
                f" <0x{byte:02X}> for its byte {byte:#04x}"
            )
        return identity

    @cached_property
    def _byte_ids(self) -> list[int | None]:
        ids = self._vocabulary.ids
        return [ids.get(f"<0x{byte:02X}>", ids.get(chr(byte)) if byte < 128 else None) for byte in range(256)]


def _find_cuts(tokens: list[str]) -> re.Pattern[str]:
    """Where a text may be cut with no token across: before a space, unless some token has the character before it.

    Merges never cross such a place, so the words between can be encoded, and remembered, one by one.
    """
    before = set(re.findall(f"([^{SPACE}{_BETWEEN}]){SPACE}", _BETWEEN.join(tokens)))
    kept = "".join(map(re.escape, sorted(before)))
    return re.compile(f"(?<=[^{SPACE}{kept}])(?={SPACE})")
