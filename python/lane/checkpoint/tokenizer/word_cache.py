"""Remembers the ids of words: texts repeat their words, and one look-up is much cheaper than a merge."""

from collections.abc import Callable, Iterable

# Bounds on what is remembered: about 20 MB at the most.
_MAX_WORDS = 1 << 16
_MAX_CHARS = 64

# A word as long as this is asked for the fewest ids that it comes to before it is merged, which takes seconds.
_LONG_CHARS = 1 << 16


class WordCache:
    """Encodes words through `encode_word`, asking it once for each word that is short enough. `fewest` tells how many
    ids a word comes to at least."""

    def __init__(self, encode_word: Callable[[str], list[int]], fewest: Callable[[str], int]) -> None:
        self._encode_word = encode_word
        self._fewest = fewest
        self._known: dict[str, list[int]] = {}

    def encode(self, words: Iterable[str], most: int | None) -> list[int]:
        """The ids, one after the other. Of more than `most` no more than the first are found: at least one too many."""
        result: list[int] = []
        for word in words:
            if most is not None and self._is_too_long(word, most - len(result)):
                return [*result, *([0] * (most + 1 - len(result)))]
            ids = self._known.get(word)
            if ids is None:
                ids = self._encode_word(word)
                if len(word) <= _MAX_CHARS:
                    if len(self._known) >= _MAX_WORDS:
                        self._known.clear()
                    self._known[word] = ids
            result.extend(ids)
        return result

    def _is_too_long(self, word: str, left: int) -> bool:
        return left < 0 or (len(word) >= _LONG_CHARS and self._fewest(word) > left)


def longest_of(tokens: Iterable[str], word: str) -> int:
    """How long, in characters, the longest of the tokens is that the word's characters spell; 0 where one of them is
    no token, since what it comes to is then not known."""
    characters = set(word)
    made = [token for token in tokens if characters.issuperset(token)]
    return max(map(len, made), default=0) if characters.issubset(made) else 0
