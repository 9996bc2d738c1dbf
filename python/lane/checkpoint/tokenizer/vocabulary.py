"""The token table of a checkpoint: texts, types, roles, and the tokens that end a generation.

What enters is the metadata; what leaves is a table that has been checked: no text twice, one type a token, every
byte token well formed, every id inside the table.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lane.checkpoint.tokenizer.metadata import Metadata, numbers, strings, token_id
from lane.checkpoint.tokenizer.special import TokenType, find_special
from lane.errors import CheckpointError

# What begins and ends texts in files that say no token's type.
_ENDS = frozenset({"<s>", "</s>", "<|endoftext|>"})

# How tokens that are not byte-level write a space.
SPACE = "▁"

_TOKENS = "tokenizer.ggml.tokens"
_TYPES = "tokenizer.ggml.token_type"
_BYTE_TOKEN = re.compile(r"<0x[0-9A-Fa-f]{2}>")

# Tokens whose text is matched as a whole before any other is cut, and of these the ones that a reader may skip.
_MATCHED = frozenset({TokenType.UNKNOWN, TokenType.CONTROL, TokenType.USER_DEFINED})
_HIDDEN = frozenset({TokenType.UNKNOWN, TokenType.CONTROL})


@dataclass(frozen=True)
class Vocabulary:
    """`tokens[id]` is the text, `ids[text]` the id, `types[id]` a `TokenType`; roles that are absent are None."""

    tokens: list[str]
    ids: dict[str, int]
    types: list[int]
    bos_id: int | None
    eos_id: int | None
    roles: dict[str, int]
    stop_ids: frozenset[int]

    def is_hidden(self, identity: int) -> bool:
        """Whether the token is control or unknown: no text of its own, and matched only where that is asked for."""
        return self.types[identity] in _HIDDEN

    def matched(self) -> Iterator[int]:
        """The tokens matched as a whole, longest text first, as UTF-8 counts length; equals by id."""
        found = [identity for identity, kind in enumerate(self.types) if kind in _MATCHED]
        return iter(sorted(found, key=lambda identity: -len(self.tokens[identity].encode())))

    def byte_value(self, identity: int) -> int:
        """The byte that a byte token `<0xHH>` stands for."""
        return int(self.tokens[identity][3:5], 16)


def read_vocabulary(metadata: Metadata, default_bos: int | None, default_eos: int | None) -> Vocabulary:
    """The table, checked. The defaults are the ids that a file of this kind means when it names none, which hold where
    such a token has that part: an ordinary one in its place ends nothing."""
    tokens = strings(metadata, _TOKENS)
    if "" in tokens:
        tokens = [token or f"[EMPTY_{i}]" for i, token in enumerate(tokens)]
    ids = _index(tokens)
    types = _types(metadata, tokens)
    bos_id = token_id(metadata, "tokenizer.ggml.bos_token_id", len(tokens))
    eos_id = token_id(metadata, "tokenizer.ggml.eos_token_id", len(tokens))
    bos_id = _special(default_bos, tokens, types) if bos_id is None else bos_id
    eos_id = _special(default_eos, tokens, types) if eos_id is None else eos_id
    roles, stop_ids = find_special(metadata, ids, types, eos_id)
    return Vocabulary(tokens, ids, types, bos_id, eos_id, roles, stop_ids)


def _special(default: int | None, tokens: list[str], types: list[int]) -> int | None:
    if default is None or default >= len(tokens):
        return None
    return default if types[default] == TokenType.CONTROL or tokens[default] in _ENDS else None


def _index(tokens: list[str]) -> dict[str, int]:
    if not tokens:
        raise CheckpointError(f"tokenizer: {_TOKENS} is empty, allowed is at least one token")
    ids = dict(zip(tokens, range(len(tokens)), strict=True))
    if len(ids) != len(tokens):
        index = next(i for i, token in enumerate(tokens) if ids[token] != i)
        other = ids[tokens[index]]
        raise CheckpointError(
            f"tokenizer: {_TOKENS}[{index}] and [{other}] are both {tokens[index]!r}, allowed is each text once"
        )
    return ids


def _types(metadata: Metadata, tokens: list[str]) -> list[int]:
    stored = numbers(metadata, _TYPES, len(tokens))
    if stored is None:
        return [TokenType.NORMAL] * len(tokens)
    known = np.isin(stored, list(TokenType))
    if not known.all():
        index = int(np.argmin(known))
        raise CheckpointError(f"tokenizer: {_TYPES}[{index}] is {stored[index]}, allowed is 0 to {max(TokenType)}")
    for index in np.flatnonzero(stored == TokenType.BYTE).tolist():
        if not _BYTE_TOKEN.fullmatch(tokens[index]):
            raise CheckpointError(
                f"tokenizer: {_TOKENS}[{index}] is the byte token {tokens[index]!r}, allowed is <0x00> to <0xFF>"
            )
    types: list[int] = stored.astype(int).tolist()
    return types
