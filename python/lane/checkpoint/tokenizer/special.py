"""Which tokens have a role or end a generation: facts about vocabularies, by key and by text.

GGUF files name some roles by id (`tokenizer.ggml.eot_token_id`) and leave the others to be known by their text; the
rules here are those by which llama.cpp reads the same files, so that the same tokens are special and the same ones
stop a generation. What enters are the token table, the table of types and the metadata; what leaves are the
roles and the corrected types.
"""

from collections.abc import Iterable, MutableSequence
from dataclasses import dataclass
from enum import IntEnum

from lane.checkpoint.tokenizer.metadata import Metadata, token_id


class TokenType(IntEnum):
    """`tokenizer.ggml.token_type`. Control, unknown and user-defined tokens are matched in text as a whole."""

    UNDEFINED = 0
    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


@dataclass(frozen=True)
class _Role:
    """A role: the keys that may give its id (the first that is there counts), else the texts it is known by."""

    name: str
    keys: tuple[str, ...]
    texts: tuple[str, ...]
    stops: bool


_ROLES = (
    _Role(
        "eot",
        ("eot_token_id",),
        (
            "<|eot_id|>",
            "<|im_end|>",
            "<|end|>",
            "<end_of_turn>",
            "<|endoftext|>",
            "<|end_of_text|>",
            "<EOT>",
            "_<EOT>",
            "[EOT]",
            "<｜end▁of▁sentence｜>",
            "<end_of_utterance>",
        ),
        True,
    ),
    _Role("eom", ("eom_token_id",), ("<|eom_id|>",), True),
    _Role(
        "fim_prefix",
        ("prefix_token_id", "fim_pre_token_id"),
        (
            "<|fim_prefix|>",
            "<fim-prefix>",
            "<fim_prefix>",
            "<｜fim▁begin｜>",
            "<PRE>",
            "▁<PRE>",
            "<|code_prefix|>",
            "<|prefix|>",
        ),
        False,
    ),
    _Role(
        "fim_suffix",
        ("suffix_token_id", "fim_suf_token_id"),
        (
            "<|fim_suffix|>",
            "<fim-suffix>",
            "<fim_suffix>",
            "<｜fim▁hole｜>",
            "<SUF>",
            "▁<SUF>",
            "<|code_suffix|>",
            "<|suffix|>",
        ),
        False,
    ),
    _Role(
        "fim_middle",
        ("middle_token_id", "fim_mid_token_id"),
        (
            "<|fim_middle|>",
            "<fim-middle>",
            "<fim_middle>",
            "<｜fim▁end｜>",
            "<MID>",
            "▁<MID>",
            "<|code_middle|>",
            "<|middle|>",
        ),
        False,
    ),
    _Role("fim_pad", ("fim_pad_token_id",), ("<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"), True),
    _Role(
        "fim_repository",
        ("fim_rep_token_id",),
        ("<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"),
        True,
    ),
    _Role("fim_file", ("fim_sep_token_id",), ("<|file_sep|>",), True),
)

# Texts that end a generation wherever a vocabulary holds them, whatever their type says.
_STOP_TEXTS = (
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
    "[e~[",
)

# Headers of a reply in several parts: shown, and matched in any text.
_SHOWN_TEXTS = ("<|channel|>", "<|message|>", "<|start|>", "<|constrain|>")

# Vocabularies in which a stop text is something else: where every text of a group is a stop, the text after it is
# not one, and has the type after that.
_EXCEPTIONS = (
    (("<|return|>", "<|call|>"), "<|end|>", TokenType.USER_DEFINED),
    (("<|return|>", "<|calls|>"), "<|end|>", TokenType.USER_DEFINED),
    (("<|call|>", "<|flush|>"), "<|end|>", TokenType.USER_DEFINED),
    (("<|calls|>", "<|flush|>"), "<|end|>", TokenType.USER_DEFINED),
    (("<|tool_response>",), "</s>", TokenType.NORMAL),
    (("<|plamo:eos|>",), "</s>", TokenType.NORMAL),
)


def find_special(
    metadata: Metadata, ids: dict[str, int], types: MutableSequence[int], eos_id: int | None
) -> tuple[dict[str, int], frozenset[int]]:
    """Roles by name and the ids that end a generation; `types` is corrected where a text says more than its type."""
    roles: dict[str, int] = {}
    for role in _ROLES:
        found = _by_key(metadata, role.keys, len(types))
        if found is None:
            found = next(iter(_present(ids, role.texts)), None)
            if found is not None:
                types[found] = TokenType.CONTROL
        if found is not None:
            roles[role.name] = found
    stops = {roles[role.name] for role in _ROLES if role.stops and role.name in roles}
    for identity in _present(ids, _STOP_TEXTS):
        stops.add(identity)
        types[identity] = TokenType.CONTROL
    for identity in _present(ids, _SHOWN_TEXTS):
        types[identity] = TokenType.USER_DEFINED
    if eos_id is not None:
        stops.add(eos_id)
    for group, text, kind in _EXCEPTIONS:
        if text in ids and all(ids.get(member) in stops for member in (*group, text)):
            stops.discard(ids[text])
            types[ids[text]] = kind
    return roles, frozenset(stops)


def _by_key(metadata: Metadata, keys: Iterable[str], count: int) -> int | None:
    for key in keys:
        found = token_id(metadata, f"tokenizer.ggml.{key}", count)
        if found is not None:
            return found
    return None


def _present(ids: dict[str, int], texts: Iterable[str]) -> list[int]:
    return [ids[text] for text in texts if text in ids]
