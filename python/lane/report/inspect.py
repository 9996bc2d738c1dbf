"""What a checkpoint holds and whether lane runs it.

Enters: a path. Leaves: an `Inspection`. Promise: whatever opens as GGUF is described as far as it can be read; what is
refused is said with its reason, never raised. Only a file that does not open is an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from lane.checkpoint.chat import ChatTemplate
from lane.checkpoint.gguf import Checkpoint, Metadata
from lane.checkpoint.tokenizer import Tokenizer
from lane.devices.registry import DeviceOptions
from lane.engine import Engine
from lane.errors import LaneError
from lane.launch.record import Numerics
from lane.models.recognise import Model, recognise
from lane.pipeline import Options
from lane.quant.registry import format_named

T = TypeVar("T")

TEMPLATE_KEY = "tokenizer.chat_template"
SHOWN_ELEMS = 16  # arrays longer than this are described, not listed
UNKNOWN = "unknown"

# Hyperparameters that tell a model's shape, and what they are called here.
SHAPE_KEYS: Mapping[str, str] = {
    "block_count": "layers",
    "embedding_length": "width",
    "feed_forward_length": "ffn",
    "attention.head_count": "heads",
    "attention.head_count_kv": "kv heads",
    "attention.key_length": "key width",
    "attention.value_length": "value width",
    "expert_count": "experts",
    "expert_used_count": "experts used",
    "context_length": "context",
}


@dataclass(frozen=True, slots=True)
class FormatUse:
    """The tensors of one format. `refused` says why lane does not read it ("" where it does)."""

    format: str
    tensors: int
    values: int
    bytes: int
    refused: str


@dataclass(frozen=True, slots=True)
class TokenizerFacts:
    """The checkpoint's tokenizer."""

    kind: str
    pre: str
    tokens: int
    bos: int | None
    eos: int | None
    stops: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether lane runs one part of the checkpoint; `reason` is the refusal ("" where it runs)."""

    part: str
    reason: str

    @property
    def runs(self) -> bool:
        """Whether it does."""
        return not self.reason


@dataclass(frozen=True)
class Inspection:
    """All that `lane inspect` tells."""

    path: str
    files: int
    bytes: int
    version: int
    architecture: str
    name: str
    shape: Mapping[str, object]
    tensors: int
    parameters: int
    formats: tuple[FormatUse, ...]
    tokenizer: TokenizerFacts | None
    has_template: bool
    metadata: Mapping[str, object]
    taken: Mapping[str, object]  # by key, what is taken for what the architecture reads and the file does not say
    warnings: tuple[str, ...]  # what the file leaves open, and what is taken for it
    verdicts: tuple[Verdict, ...]

    def as_json(self) -> dict[str, object]:
        """Plain values that JSON can hold."""
        return asdict(self)


def inspect(path: Path) -> Inspection:
    """Describes a checkpoint; UsageError, CheckpointError or UnsupportedError when it does not open as GGUF at all."""
    checkpoint = Checkpoint.open(path)
    metadata = checkpoint.metadata
    tokenizer, verdict = _attempt("tokenizer", partial(Tokenizer.from_metadata, metadata))
    model, model_verdict = _attempt("model", partial(recognise, checkpoint))
    return Inspection(
        path=str(path),
        files=len(checkpoint.parts),
        bytes=checkpoint.bytes,
        version=checkpoint.version,
        architecture=_text(metadata, "general.architecture"),
        name=_text(metadata, "general.name"),
        shape=dict(_shape(metadata)),
        tensors=len(checkpoint.tensors),
        parameters=sum(math.prod(t.shape) for t in checkpoint.tensors.values()),
        formats=_formats(checkpoint),
        tokenizer=None if tokenizer is None else _facts(tokenizer),
        has_template=TEMPLATE_KEY in metadata,
        metadata={key: described(metadata, key) for key in metadata},
        taken={} if model is None else dict(model.taken),
        warnings=() if tokenizer is None else tokenizer.warnings,
        verdicts=(model_verdict, *_verdicts(checkpoint, model), verdict),
    )


def described(metadata: Metadata, key: str) -> object:
    """A metadata value as JSON can hold it; a long array only by its kind and length."""
    kind, count = metadata.kind(key)
    if count is not None and count > SHOWN_ELEMS:
        return f"{kind}[{count}]"
    value = metadata[key]
    return _plain(value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value)


def _plain(value: object) -> object:
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _text(metadata: Metadata, key: str) -> str:
    value = metadata.get(key, UNKNOWN)
    return value if isinstance(value, str) else UNKNOWN


def _shape(metadata: Metadata) -> Iterator[tuple[str, object]]:
    prefix = _text(metadata, "general.architecture")
    for key, label in SHAPE_KEYS.items():
        if f"{prefix}.{key}" in metadata:
            yield label, described(metadata, f"{prefix}.{key}")


def _formats(checkpoint: Checkpoint) -> tuple[FormatUse, ...]:
    """By falling bytes."""
    tensors = list(checkpoint.tensors.values())
    uses = []
    for name in dict.fromkeys(t.type for t in tensors):
        of = [t for t in tensors if t.type == name]
        _, verdict = _attempt(name, partial(format_named, name))
        values = sum(math.prod(t.shape) for t in of)
        uses.append(FormatUse(name, len(of), values, sum(t.bytes for t in of), verdict.reason))
    return tuple(sorted(uses, key=lambda use: -use.bytes))


def _facts(tokenizer: Tokenizer) -> TokenizerFacts:
    return TokenizerFacts(
        tokenizer.kind,
        tokenizer.pre,
        tokenizer.vocab_size,
        tokenizer.bos_id,
        tokenizer.eos_id,
        tuple(sorted(tokenizer.stop_ids)),
    )


def _verdicts(checkpoint: Checkpoint, model: Model | None) -> Iterator[Verdict]:
    """The decode step on the device under each numerics, then the chat template."""
    if model is not None:
        for numerics in Numerics:
            yield _attempt(f"cpu {numerics.value}", partial(_prepare, checkpoint, model, numerics))[1]
    if TEMPLATE_KEY in checkpoint.metadata:
        yield _attempt("chat template", partial(_check_template, checkpoint.metadata))[1]


def _prepare(checkpoint: Checkpoint, model: Model, numerics: Numerics) -> None:
    Engine(checkpoint, model, Options(numerics), device_options=DeviceOptions(threads=1))


def _check_template(metadata: Metadata) -> None:
    ChatTemplate.from_metadata(metadata).check()


def _attempt(part: str, make: Callable[[], T]) -> tuple[T | None, Verdict]:
    try:
        return make(), Verdict(part, "")
    except LaneError as error:
        return None, Verdict(part, str(error))
