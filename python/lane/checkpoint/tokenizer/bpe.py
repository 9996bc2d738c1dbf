"""Byte-pair encoding with an explicit list of merges (`tokenizer.ggml.model` gpt2 and gemma4).

What enters is text without special tokens; what leaves are ids. The text is cut into pieces, each piece into symbols
(bytes in GPT-2's alphabet, or characters), and neighbours are merged in the order of the list. What no token spells
out in the end falls back to single bytes, and to nothing where there is no token for those either, as in llama.cpp.
"""

from functools import cached_property

from lane.checkpoint.tokenizer.merge import merge
from lane.checkpoint.tokenizer.metadata import Metadata, strings
from lane.checkpoint.tokenizer.pretokenize import PreTokenizer
from lane.checkpoint.tokenizer.vocabulary import SPACE, Vocabulary
from lane.checkpoint.tokenizer.word_cache import WordCache, longest_of
from lane.errors import CheckpointError

_MERGES = "tokenizer.ggml.merges"


def _byte_alphabet() -> dict[int, str]:
    """GPT-2's alphabet: a printable byte is its Latin-1 character, the others follow from U+0100."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}


_BYTE_TO_CHAR = _byte_alphabet()
_CHAR_TO_BYTE = {char: bytes([byte]) for byte, char in _BYTE_TO_CHAR.items()}


class BytePairEncoder:
    """Ids of texts, texts of ids. `tokenless` are the merges that make no token."""

    def __init__(self, metadata: Metadata, vocabulary: Vocabulary, pre_tokenizer: PreTokenizer) -> None:
        self._vocabulary = vocabulary
        self._pre_tokenizer = pre_tokenizer
        self._ranks = _read_merges(metadata)
        self.tokenless = [pair for pair in self._ranks if pair.replace(" ", "") not in vocabulary.ids]
        self._words = WordCache(self._encode_piece, self._fewest)

    def encode(self, text: str, starts: bool, most: int | None) -> list[int]:
        """The ids of `text`; whether it starts a text or follows a special token makes no difference here."""
        if not self._pre_tokenizer.is_byte_level:
            text = text.replace(" ", SPACE)
        return self._words.encode(self._pre_tokenizer.split(text), most)

    def normal_bytes(self, text: str) -> bytes:
        """The bytes that a normal token of this text stands for."""
        if not self._pre_tokenizer.is_byte_level:
            return text.replace(SPACE, " ").encode()
        return b"".join(_CHAR_TO_BYTE.get(char) or char.encode() for char in text)

    def _encode_piece(self, piece: str) -> list[int]:
        row, ids = self._pre_tokenizer, self._vocabulary.ids
        word = self._spelt(piece)
        if row.whole_pieces or (row.whole_newlines and not piece.strip("\n")):
            whole = ids.get(word)
            if whole is not None:
                return [whole]
        result: list[int] = []
        for symbol in merge(word, self._ranks.get, " "):
            identity = ids.get(symbol)
            if identity is not None:
                result.append(identity)
            else:
                result.extend(self._bytes_of(symbol))
        return result

    def _spelt(self, piece: str) -> str:
        """The piece in the letters that tokens are written in."""
        is_byte_level = self._pre_tokenizer.is_byte_level
        return piece.encode().decode("latin-1").translate(_BYTE_TO_CHAR) if is_byte_level else piece

    def _fewest(self, piece: str) -> int:
        """How many ids a piece comes to at least. A symbol that is no token may come to none."""
        word = self._spelt(piece)
        longest = 0 if self.tokenless else longest_of(self._vocabulary.tokens, word)
        return -(-len(word) // longest) if longest else 0

    def _bytes_of(self, symbol: str) -> list[int]:
        return [self._byte_ids[byte] for byte in symbol.encode() if byte in self._byte_ids]

    @cached_property
    def _byte_ids(self) -> dict[int, int]:
        ids = self._vocabulary.ids
        if self._pre_tokenizer.is_byte_level:
            return {byte: ids[chr(byte)] for byte in range(128) if chr(byte) in ids}
        return {byte: ids[f"<0x{byte:02X}>"] for byte in range(256) if f"<0x{byte:02X}>" in ids}


def _read_merges(metadata: Metadata) -> dict[str, float]:
    """The rank of each merge "a b": its place in the list, the first where it is there twice. What a + b makes need be
    no token: such a symbol, as one that is not merged further, falls back to bytes, which is llama.cpp's rule."""
    merges = strings(metadata, _MERGES)
    for index, pair in enumerate(merges):
        left, _, right = pair.partition(" ")
        if not left or not right or " " in right:
            raise CheckpointError(
                f"tokenizer: {_MERGES}[{index}] is {pair!r}, allowed are two tokens and a space between"
            )
    count = len(merges)
    return dict(zip(reversed(merges), range(count - 1, -1, -1), strict=True))
