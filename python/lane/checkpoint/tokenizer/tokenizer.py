"""Text to ids and back, by the tokenizer that a checkpoint's own metadata describes.

What enters is the metadata (`tokenizer.ggml.*`); what leaves is a `Tokenizer` whose ids are those of llama.cpp on
any text. Nothing is cached on disk: the tables are dictionaries built from the file's arrays. What the metadata gets
wrong is a `CheckpointError`, a kind that is not known an `UnsupportedError`.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Protocol

from lane.checkpoint.tokenizer.added import AddedToken, split_added
from lane.checkpoint.tokenizer.bpe import BytePairEncoder
from lane.checkpoint.tokenizer.metadata import Metadata, flag, text
from lane.checkpoint.tokenizer.pretokenizers import DEFAULT, find_pre_tokenizer
from lane.checkpoint.tokenizer.sentencepiece import SentencePieceEncoder
from lane.checkpoint.tokenizer.special import TokenType
from lane.checkpoint.tokenizer.stream import TokenStream
from lane.checkpoint.tokenizer.vocabulary import Vocabulary, read_vocabulary
from lane.errors import CheckpointError, UnsupportedError, UsageError

KINDS = ("gemma4", "gpt2", "llama")


class _Encoder(Protocol):
    def encode(self, text: str, starts: bool) -> list[int]: ...

    def normal_bytes(self, text: str) -> bytes: ...


class Tokenizer:
    """`kind` is `tokenizer.ggml.model`, `pre` the name of the pre-tokenizer ("" where the kind has none).

    `stop_ids` are the tokens that end a generation. Ids of roles that the vocabulary does not have are None.
    """

    def __init__(self, kind: str, pre: str, vocabulary: Vocabulary, encoder: _Encoder) -> None:
        self.kind = kind
        self.pre = pre
        self.adds_bos = False
        self.adds_eos = False
        self.strips_after_special = False
        self._vocabulary = vocabulary
        self._encoder = encoder

    @classmethod
    def from_metadata(cls, metadata: Metadata) -> "Tokenizer":
        kind = text(metadata, "tokenizer.ggml.model")
        if kind == "llama":
            return _sentencepiece(metadata)
        if kind in KINDS:
            return _byte_pair(metadata, kind)
        raise UnsupportedError(
            f"tokenizer: tokenizer.ggml.model is {kind!r}, allowed is one of {', '.join(KINDS)}"
        )
