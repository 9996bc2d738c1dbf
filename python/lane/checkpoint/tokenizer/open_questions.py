"""What a file leaves open about its tokenizer that changes results, and what is taken for it.

What enters is the metadata and what was made of it; what leaves is a line for each key that files of the kind have and
this one lacks. Keys that converters leave out where the usual holds (the flags about BOS, EOS and spaces) are none.
"""

from collections.abc import Iterator, Sequence

from lane.checkpoint.tokenizer.metadata import Metadata
from lane.checkpoint.tokenizer.vocabulary import Vocabulary


def open_questions(metadata: Metadata, kind: str, vocabulary: Vocabulary, adds_bos: bool) -> Iterator[str]:
    """A line for each key that is missing."""
    if kind == "gpt2" and not metadata.get("tokenizer.ggml.pre"):
        yield _missing(
            "pre", "texts are cut by a default rule: digits and punctuation may come to other tokens than the model's"
        )
    if kind == "llama" and "tokenizer.ggml.scores" not in metadata:
        yield _missing("scores", "tokens are merged from the left")
    if "tokenizer.ggml.token_type" not in metadata:
        yield _missing("token_type", "tokens are control tokens only where their text is a known one")
    if "tokenizer.ggml.eos_token_id" not in metadata:
        ends = ", ".join(f"{vocabulary.tokens[i]!r} ({i})" for i in sorted(vocabulary.stop_ids))
        yield _missing("eos_token_id", f"a text ends at {ends}" if ends else "no token ends a text")
    if adds_bos and vocabulary.bos_id is not None and "tokenizer.ggml.bos_token_id" not in metadata:
        yield _missing("bos_token_id", f"texts begin with {vocabulary.tokens[vocabulary.bos_id]!r}")


def tokenless_merges(pairs: Sequence[str]) -> Iterator[str]:
    """A line where merges make no token."""
    if pairs:
        yield (
            f"tokenizer: tokenizer.ggml.merges has {len(pairs)} merges that make no token, the first {pairs[0]!r}: "
            "what they make comes to the tokens of its bytes"
        )


def _missing(key: str, taken: str) -> str:
    return f"tokenizer: tokenizer.ggml.{key} is missing: {taken}"
