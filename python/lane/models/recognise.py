"""Recognition: from a checkpoint to a model whose steps can be lifted.

Enters: an open checkpoint. Leaves: a `Model`. Promise: every key and tensor of the file was understood or refused by
name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from lane.checkpoint.gguf import Checkpoint
from lane.errors import CapacityError, CheckpointError, UnsupportedError, UsageError
from lane.graph.graph import Head, StepGraph
from lane.graph.ops.base import Array
from lane.graph.tensor import Rows
from lane.launch.record import F32, Numerics
from lane.models.architecture import Architecture, Config, check_tensors
from lane.models.hparams import Hparams
from lane.models.registry import ARCHITECTURES
from lane.models.step import Constants, StepBuilder
from lane.quant.registry import format_named

DEFAULT_CONTEXT = 4096  # the most positions a model gets unless asked for more
LONGEST_CONTEXT = 1 << 17  # the most it gets when asked, unless its own is longer

TOKENS = "tokenizer.ggml.tokens"
# Keys under no architecture's prefix that change results: the one value of each that lane runs, which a file need not
# name, and the beginnings of those that it does not run at all.
GENERAL: Mapping[str, object] = {"general.type": "model", "general.quantization_version": 2}
# What else GGUF files are, by their `general.type`.
OTHER_KINDS: Mapping[str, str] = {
    "adapter": "an adapter (LoRA), which changes a model",
    "dataset": "a data set",
    "imatrix": "an importance matrix, which quantising reads",
    "mmproj": "a projector, which turns images or sound into what a model reads",
    "vocab": "a vocabulary alone",
}
FOREIGN = ("adapter.", "xielu.", "tokenizer.ggml.suppress_tokens")


class CheckpointSource:
    """A checkpoint's tensors as the builder sees them."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint

    def shape(self, name: str) -> tuple[int, ...] | None:
        """A tensor's shape, innermost first; None when there is none of that name."""
        tensor = self._checkpoint.tensors.get(name)
        return None if tensor is None else tensor.shape

    def format(self, name: str) -> str:
        """A tensor's format by name."""
        return self._checkpoint.tensors[name].type

    def values(self, name: str) -> F32:
        """A tensor's values as flat f32."""
        return self.rows(name, 0, None).reshape(-1)

    def rows(self, name: str, first: int, count: int | None) -> F32:
        """Dequantised rows of a tensor."""
        tensor = self._checkpoint.tensors[name]
        data = self._checkpoint.data(name).reshape(-1, self._row_bytes(tensor.type, tensor.shape[0]))
        stop = None if count is None else first + count
        values = format_named(tensor.type).decode(data[first:stop])
        self._checkpoint.require_whole()
        return values

    def matrix(self, rows: Rows) -> Array:
        """A placed matrix's values, rows × cols."""
        return np.concatenate([self.rows(r.tensor, r.first, r.rows) for r in rows.runs]).astype(np.float64)

    @staticmethod
    def _row_bytes(type_name: str, cols: int) -> int:
        format = format_named(type_name)
        return format.bytes_of(cols)


@dataclass(frozen=True)
class Model:
    """A recognised model with the context it is compiled for. `taken` has, by key, what the file does not say."""

    architecture: Architecture[Any]
    config: Config
    source: CheckpointSource
    constants: Constants
    taken: Mapping[str, object]

    @property
    def context(self) -> int:
        """Positions that the carried caches hold."""
        return self.constants.context

    def step(
        self, rows: int, head: Head = Head.LAST, sequences: int = 1, numerics: Numerics = Numerics.PRECISE
    ) -> StepGraph:
        """The step graph over `rows` rows of each of `sequences` sequences for a numerics."""
        if sequences != 1:
            raise UnsupportedError(f"models: a step of {sequences} sequences: lane has no batch forms yet; allowed 1")
        builder = StepBuilder(self.constants, rows, head, numerics)
        return builder.finish(self.architecture.build(builder, self.config))

    def at_context(self, context: int) -> Model:
        """The same model for another number of positions."""
        return replace(self, constants=Constants(self.source, _context(context, self.config.context)))


def recognise(checkpoint: Checkpoint, context: int | None = None) -> Model:
    """The model of a checkpoint, for `context` positions (default: its own, at most DEFAULT_CONTEXT).

    A context beyond the model's own runs; what the model makes of it is its own affair.
    """
    _check_kind(checkpoint)
    architecture = _architecture(checkpoint.architecture)
    _check_general(checkpoint)
    vocab = _vocab(checkpoint)
    hparams = Hparams(checkpoint.metadata, architecture.name, vocab=vocab)
    config = architecture.read(hparams)
    found = hparams.count("vocab_size", vocab)
    hparams.require(found == vocab, f"vocab_size is {found}, allowed {vocab}, the rows of 'token_embd.weight'")
    hparams.expect("attention.causal", True)
    hparams.expect("pooling_type", 0)  # none: an embedding model's step gives no logits
    hparams.refuse_unread()
    check_tensors(architecture, config, checkpoint)
    source = CheckpointSource(checkpoint)
    return Model(
        architecture,
        config,
        source,
        Constants(source, _context(context, config.context)),
        MappingProxyType(hparams.taken),
    )


def _architecture(name: str) -> Architecture[Any]:
    for architecture in ARCHITECTURES:
        if architecture.name == name:
            return architecture
    known = ", ".join(a.name for a in ARCHITECTURES)
    raise UnsupportedError(f"models: architecture '{name}': lane does not run it; allowed {known}")


def _check_kind(checkpoint: Checkpoint) -> None:
    """Refuses what lies beside models, by what it is."""
    kind, name = (checkpoint.metadata.get(f"general.{key}") for key in ("type", "architecture"))
    if isinstance(name, str) and name == "clip":
        kind = "mmproj"
    if isinstance(kind, str) and kind in OTHER_KINDS:
        raise UnsupportedError(
            f"models: metadata key 'general.type': found {kind}: the file is {OTHER_KINDS[kind]}; allowed a model, "
            "which is another file"
        )
    if not checkpoint.tensors:
        raise UnsupportedError("models: the file has 0 tensors: it is a vocabulary alone; allowed a model with weights")


def _check_general(checkpoint: Checkpoint) -> None:
    """Refuses a file that is no model on its own, or whose blocks mean something else."""
    metadata = checkpoint.metadata
    for key, allowed in GENERAL.items():
        found = metadata.get(key, allowed)
        if type(found) is not type(allowed) or found != allowed:
            raise UnsupportedError(f"models: metadata key '{key}': found {str(found)[:60]}, lane runs {allowed} alone")
    for key in metadata:
        if key.startswith(FOREIGN):
            raise UnsupportedError(
                f"models: metadata key '{key}': lane does not read it and it may change results; allowed none that "
                f"begins with {' or '.join(FOREIGN)}"
            )


def _vocab(checkpoint: Checkpoint) -> int:
    """Rows of the embedding: one a token of the tokenizer, where the file has one."""
    embedding = checkpoint.tensors.get("token_embd.weight")
    if embedding is None or len(embedding.shape) < 2:
        raise CheckpointError("models: tensor 'token_embd.weight': not in the file as a matrix, required")
    rows = embedding.shape[1]
    if TOKENS in checkpoint.metadata:
        _, count = checkpoint.metadata.kind(TOKENS)
        if count != rows:
            raise CheckpointError(
                f"models: tensor 'token_embd.weight': found {rows} rows, allowed one a token of {TOKENS}, {count or 0}"
            )
    return rows


def _context(asked: int | None, own: int) -> int:
    if asked is None:
        return min(own, DEFAULT_CONTEXT)
    most = max(own, LONGEST_CONTEXT)
    if not 1 <= asked <= most:
        error = UsageError if asked < 1 else CapacityError
        raise error(f"models: a context of {asked} positions: allowed 1 to {most}")
    return asked
