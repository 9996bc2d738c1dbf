"""Text to ids and back, by the tokenizer that a checkpoint's own metadata describes.

What enters is the metadata (`tokenizer.ggml.*`); what leaves is a `Tokenizer` whose ids are those of llama.cpp on
any text. Nothing is cached on disk: the tables are dictionaries built from the file's arrays. What the metadata gets
wrong is a `CheckpointError`, a kind that is not known an `UnsupportedError`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from lane.arguments import refuse, whole
from lane.checkpoint.tokenizer.added import AddedToken, Span, split_added
from lane.checkpoint.tokenizer.bpe import BytePairEncoder
from lane.checkpoint.tokenizer.metadata import Metadata, flag, string
from lane.checkpoint.tokenizer.open_questions import open_questions, tokenless_merges
from lane.checkpoint.tokenizer.pretokenizers import DEFAULT, find_pre_tokenizer
from lane.checkpoint.tokenizer.sentencepiece import SentencePieceEncoder
from lane.checkpoint.tokenizer.special import TokenType
from lane.checkpoint.tokenizer.stream import TokenStream
from lane.checkpoint.tokenizer.vocabulary import Vocabulary, read_vocabulary
from lane.errors import CapacityError, CheckpointError, UnsupportedError, UsageError

KINDS = ("gemma4", "gpt2", "llama")

# In files of these names, by llama.cpp's rule, tokens matched as a whole take in the whitespace after them, but for
# a few. The attribute is not in the metadata.
_STRIPPING_NAMES = ("phi-3", "phi3")
_NOT_STRIPPING = frozenset({"<unk>", "<s>", "<|endoftext|>"})


class _Encoder(Protocol):
    def encode(self, text: str, starts: bool, most: int | None) -> list[int]: ...

    def normal_bytes(self, text: str) -> bytes: ...


@dataclass(frozen=True)
class Rules:
    """What is put around a text. `adds_space`: a space before a text that starts or follows a special token."""

    adds_bos: bool
    adds_eos: bool
    adds_space: bool = False
    strips: bool = False


class Tokenizer:
    """`kind` is `tokenizer.ggml.model`, `pre` the pre-tokenizer's name, "" where the kind has none. `warnings` say what
    the file leaves open that may change results, and what is taken for it."""

    def __init__(
        self,
        kind: str,
        pre: str,
        vocabulary: Vocabulary,
        encoder: _Encoder,
        rules: Rules,
        warnings: Iterable[str] = (),
    ) -> None:
        self.kind = kind
        self.pre = pre
        self.rules = rules
        self.warnings = tuple(warnings)
        self._vocabulary = vocabulary
        self._encoder = encoder

    @classmethod
    def from_metadata(cls, metadata: Metadata) -> "Tokenizer":
        kind = string(metadata, "tokenizer.ggml.model")
        if kind not in KINDS:
            raise UnsupportedError(f"tokenizer: tokenizer.ggml.model is {kind!r}, allowed is one of {', '.join(KINDS)}")
        return _sentencepiece(metadata) if kind == "llama" else _byte_pair(metadata, kind)

    @property
    def vocab_size(self) -> int:
        return len(self._vocabulary.tokens)

    @property
    def bos_id(self) -> int | None:
        return self._vocabulary.bos_id

    @property
    def eos_id(self) -> int | None:
        return self._vocabulary.eos_id

    @property
    def eot_id(self) -> int | None:
        """The token that ends a turn of a conversation."""
        return self._vocabulary.roles.get("eot")

    @property
    def stop_ids(self) -> frozenset[int]:
        """The tokens that end a generation."""
        return self._vocabulary.stop_ids

    @cached_property
    def longest_bytes(self) -> int:
        """The most bytes of a text that one id can stand for; what comes to no id at all is beside that."""
        return max(len(token.encode()) for token in self._vocabulary.tokens)

    def prompt(
        self, text: str, *, parse_special: bool = True, given: Sequence[Span] = (), most: int | None = None
    ) -> list[int]:
        """The ids of a text that is to be continued: with BOS as the file asks for it, which a text that begins with
        it has already, and without EOS, which would end what is to go on.

        `given` are the half-open spans that hold no control tokens, whatever is written there. `most` bounds the ids,
        and with them the time: CapacityError for a text that comes to more, or that is of more bytes than as many ids
        can stand for.
        """
        size = len(_text(text).encode("utf-8", "surrogatepass"))
        if most is not None and size > most * self.longest_bytes:
            raise CapacityError(
                f"prompt: a text of {size} bytes, allowed {most * self.longest_bytes}, as many as {most} tokens (the "
                "context) can stand for"
            )
        ids = self._ids(text, parse_special, given, most)
        bos = self._vocabulary.bos_id
        if self.rules.adds_bos and bos is not None and ids[:1] != [bos]:
            ids.insert(0, bos)
        if most is not None and len(ids) > most:
            raise CapacityError(f"prompt: more than {most} tokens, allowed {most} (the context)")
        return ids

    def encode(self, text: str, *, add_special: bool = True, parse_special: bool = True) -> list[int]:
        """The ids of `text`: with BOS and EOS as the file asks for them if `add_special`; with the text of control
        tokens read as those tokens if `parse_special`, else as any text. User-defined tokens are always read."""
        ids = self._ids(_text(text), parse_special)
        rules, vocabulary = self.rules, self._vocabulary
        if add_special and rules.adds_bos and vocabulary.bos_id is not None:
            ids.insert(0, vocabulary.bos_id)
        if add_special and rules.adds_eos and vocabulary.eos_id is not None:
            ids.append(vocabulary.eos_id)
        return ids

    def _ids(self, text: str, parse_special: bool, given: Sequence[Span] = (), most: int | None = None) -> list[int]:
        """The ids of the text alone; where they are more than `most`, at least one more than that."""
        if not text.isascii():
            _check_unicode(text)
        ids: list[int] = []
        starts = True
        for part in split_added(text, self._added, parse_special, given, most):
            if most is not None and len(ids) > most:
                break
            if isinstance(part, int):
                ids.append(part)
                starts = True
            else:
                ids.extend(self._encoder.encode(part, starts, None if most is None else most - len(ids)))
                starts = False
        return ids

    def decode(self, ids: Iterable[int], *, skip_special: bool = False) -> str:
        """The text of `ids`, without the space that `encode` puts before a text; what is not UTF-8 becomes U+FFFD.

        Control tokens are written out, or left out with `skip_special`.
        """
        kept = [identity for identity in ids if not (skip_special and self._is_hidden(identity))]
        pieces = [self.token_bytes(identity) for identity in kept]
        if pieces and self.rules.adds_space:
            pieces[0] = pieces[0].removeprefix(b" ")
        return b"".join(pieces).decode("utf-8", "replace")

    def token_bytes(self, identity: int) -> bytes:
        """The bytes of one token; a token of type unused or undefined has none."""
        vocabulary = self._vocabulary
        text = vocabulary.tokens[self._checked(identity)]
        match vocabulary.types[identity]:
            case TokenType.NORMAL:
                return self._encoder.normal_bytes(text)
            case TokenType.BYTE:
                return bytes([vocabulary.byte_value(identity)])
            case TokenType.UNUSED | TokenType.UNDEFINED:
                return b""
            case _:
                return text.encode()

    def stream(self, *, skip_special: bool = True) -> TokenStream:
        """A decoder for ids that arrive one at a time and continue a text: no space is taken from its start."""

        def piece(identity: int) -> bytes:
            return b"" if skip_special and self._is_hidden(identity) else self.token_bytes(identity)

        return TokenStream(piece)

    @cached_property
    def _added(self) -> list[AddedToken]:
        vocabulary = self._vocabulary
        added = []
        for identity in vocabulary.matched():
            text = vocabulary.tokens[identity]
            strips = self.rules.strips and text not in _NOT_STRIPPING
            added.append(AddedToken(identity, text, vocabulary.is_hidden(identity), strips))
        return added

    def _is_hidden(self, identity: int) -> bool:
        return self._vocabulary.is_hidden(self._checked(identity))

    def _checked(self, identity: int) -> int:
        return whole("tokenizer: token id", identity, 0, self.vocab_size - 1)


def _sentencepiece(metadata: Metadata) -> Tokenizer:
    vocabulary = read_vocabulary(metadata, default_bos=1, default_eos=2)
    adds_space = flag(metadata, "tokenizer.ggml.add_space_prefix", True)
    encoder = SentencePieceEncoder(metadata, vocabulary, adds_space)
    rules = _rules(metadata, vocabulary, adds_bos=True, adds_space=adds_space)
    warnings = open_questions(metadata, "llama", vocabulary, rules.adds_bos)
    return Tokenizer("llama", "", vocabulary, encoder, rules, warnings)


def _byte_pair(metadata: Metadata, kind: str) -> Tokenizer:
    pre = "gemma4" if kind == "gemma4" else string(metadata, "tokenizer.ggml.pre", "") or DEFAULT
    row = find_pre_tokenizer(pre)
    default = 11 if kind == "gpt2" else None
    vocabulary = read_vocabulary(metadata, default_bos=default if row.has_bos else None, default_eos=default)
    encoder = BytePairEncoder(metadata, vocabulary, row)
    rules = _rules(metadata, vocabulary, adds_bos=row.adds_bos)
    if row.always_bos:
        rules = replace(rules, adds_bos=True)
    warnings = open_questions(metadata, kind, vocabulary, rules.adds_bos)
    return Tokenizer(kind, pre, vocabulary, encoder, rules, [*warnings, *tokenless_merges(encoder.tokenless)])


def _rules(metadata: Metadata, vocabulary: Vocabulary, adds_bos: bool, adds_space: bool = False) -> Rules:
    name = metadata.get("general.name")
    rules = Rules(
        adds_bos=flag(metadata, "tokenizer.ggml.add_bos_token", adds_bos),
        adds_eos=flag(metadata, "tokenizer.ggml.add_eos_token", False),
        adds_space=adds_space,
        strips=isinstance(name, str) and any(part in name.lower() for part in _STRIPPING_NAMES),
    )
    for role, wanted, found in (
        ("bos", rules.adds_bos, vocabulary.bos_id),
        ("eos", rules.adds_eos, vocabulary.eos_id),
    ):
        if wanted and found is None:
            raise CheckpointError(
                f"tokenizer: tokenizer.ggml.{role}_token_id is missing, allowed is an id since texts get that token"
            )
    return rules


def _text(text: object) -> str:
    if not isinstance(text, str):
        refuse("tokenizer: the text", text, "a string")
    return text


def _check_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"tokenizer: character {error.start} of the text is {text[error.start]!a}, a lone surrogate;"
            " allowed is any other"
        ) from None
