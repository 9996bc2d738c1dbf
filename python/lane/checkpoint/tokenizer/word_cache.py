"""Remembers the ids of words: texts repeat their words, and one look-up is much cheaper than a merge."""

from collections.abc import Callable, Iterable

# Bounds on what is remembered: about 20 MB at the most.
_MAX_WORDS = 1 << 16
_MAX_CHARS = 64


class WordCache:
    """Encodes words through `encode_word`, asking it once for each word that is short enough."""

    def __init__(self, encode_word: Callable[[str], list[int]]) -> None:
        self._encode_word = encode_word
        self._known: dict[str, list[int]] = {}

    def encode(self, words: Iterable[str]) -> list[int]:
        result: list[int] = []
        for word in words:
            ids = self._known.get(word)
            if ids is None:
                ids = self._encode_word(word)
                if len(word) <= _MAX_CHARS:
                    if len(self._known) >= _MAX_WORDS:
                        self._known.clear()
                    self._known[word] = ids
            result.extend(ids)
        return result
