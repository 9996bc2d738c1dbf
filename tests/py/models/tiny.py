"""Tiny checkpoints of every architecture, built from its own tensor table, to be spoiled one thing at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from lane.checkpoint.gguf import Checkpoint
from lane.models.architecture import Architecture, TensorRow, named_tensors
from lane.models.hparams import Hparams
from lane.models.recognise import Model, recognise
from lane.models.registry import ARCHITECTURES

Value = bool | int | float | str | list[bool] | list[int] | list[str]

VOCAB = 40

COMMON: Mapping[str, Value] = {
    "block_count": 2,
    "context_length": 64,
    "embedding_length": 32,
    "feed_forward_length": 64,
    "attention.head_count": 4,
    "attention.head_count_kv": 2,
}

RMS: Mapping[str, Value] = {"attention.layer_norm_rms_epsilon": 1e-6}

EXPERTS: Mapping[str, Value] = {"expert_count": 4, "expert_used_count": 2, "expert_feed_forward_length": 48}

DELTA: Mapping[str, Value] = {
    "full_attention_interval": 2,
    "rope.dimension_count": 4,
    "ssm.conv_kernel": 4,
    "ssm.state_size": 8,
    "ssm.group_count": 2,
    "ssm.time_step_rank": 4,
    "ssm.inner_size": 32,
}

LATENT: Mapping[str, Value] = {
    "attention.q_lora_rank": 24,
    "attention.kv_lora_rank": 16,
    "rope.dimension_count": 4,
}

CONVOLUTION: Mapping[str, Value] = {"attention.head_count_kv": [0, 2, 0], "block_count": 3, "shortconv.l_cache": 3}

OWN: Mapping[str, Mapping[str, Value]] = {
    "granite": {**RMS, "logit_scale": 4.0},
    "starcoder2": {"attention.layer_norm_epsilon": 1e-5},
    "qwen2moe": {**RMS, **EXPERTS, "expert_shared_feed_forward_length": 40},
    "qwen3moe": {**RMS, **EXPERTS},
    "olmoe": {**RMS, "expert_count": 4, "expert_used_count": 2},
    "granitemoe": {
        **RMS,
        "logit_scale": 4.0,
        "expert_count": 4,
        "expert_used_count": 2,
        "expert_shared_feed_forward_length": 40,
    },
    "gpt-oss": {**RMS, **EXPERTS, "attention.sliding_window": 4},
    "glm4moe": {
        **RMS,
        **EXPERTS,
        "block_count": 3,
        "leading_dense_block_count": 1,
        "expert_shared_count": 2,
        "expert_weights_norm": True,
        "rope.dimension_count": 4,
    },
    "deepseek2": {
        **RMS,
        **EXPERTS,
        **LATENT,
        "attention.head_count_kv": 1,
        "attention.key_length": 20,
        "attention.key_length_mla": 12,
        "attention.value_length_mla": 6,
        "leading_dense_block_count": 1,
        "expert_shared_count": 2,
    },
    "minicpm3": {**RMS, **LATENT},
    "qwen3next": {**RMS, **EXPERTS, **DELTA, "expert_shared_feed_forward_length": 40},
    "qwen35": {**RMS, **DELTA, "rope.dimension_sections": [1, 1, 0, 0]},
    "qwen35moe": {**RMS, **EXPERTS, **DELTA, "expert_shared_feed_forward_length": 40},
    "lfm2": {**RMS, **CONVOLUTION},
    "lfm2moe": {**RMS, **EXPERTS, **CONVOLUTION, "leading_dense_block_count": 1, "expert_gating_func": 2},
}

# Architectures with a second shape of files: a name for it, the architecture, its metadata.
SECOND: Mapping[str, tuple[str, Mapping[str, Value]]] = {
    "mixtral": ("llama", {**RMS, "expert_count": 4, "expert_used_count": 2}),
    "deepseek2 lite": ("deepseek2", {k: v for k, v in OWN["deepseek2"].items() if k != "attention.q_lora_rank"}),
}

BY_NAME: Mapping[str, Architecture[Any]] = {a.name: a for a in ARCHITECTURES}

NAMES = (*BY_NAME, *SECOND)


def architecture_of(name: str) -> Architecture[Any]:
    """The architecture of a name, which may be that of its second shape."""
    return BY_NAME[SECOND[name][0] if name in SECOND else name]


def table_of(name: str) -> list[TensorRow]:
    """The rows of an architecture's table of which the tiny checkpoint may have tensors."""
    architecture = architecture_of(name)
    config = architecture.read(_hparams(tiny_metadata(name), architecture.name))
    there = [tensor.row for tensor in named_tensors(architecture, config)]
    return [row for row in architecture.tensors if row in there]


@dataclass
class Tiny:
    """A checkpoint in the making: metadata by key without the architecture's prefix, `general` with all of it, tensors
    rows first."""

    name: str
    metadata: dict[str, Value] = field(default_factory=dict)
    general: dict[str, Value] = field(default_factory=dict, kw_only=True)
    tensors: dict[str, np.ndarray] = field(default_factory=dict)

    def write(self, path: Path) -> Path:
        """Writes the checkpoint."""
        writer = gguf.GGUFWriter(path, self.name)
        for key, value in self.metadata.items():
            _add(writer, f"{self.name}.{key}", value)
        for key, value in self.general.items():
            _add(writer, key, value)
        for name, array in self.tensors.items():
            writer.add_tensor(name, array)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    def recognise(self, folder: Path, context: int | None = None) -> Model:
        """The model of the checkpoint as written."""
        return recognise(Checkpoint.open(self.write(folder / "tiny.gguf")), context)


def tiny_metadata(name: str) -> Mapping[str, Value]:
    """An architecture's metadata, without its prefix."""
    return {**COMMON, **(SECOND[name][1] if name in SECOND else OWN.get(name, RMS))}


def _hparams(metadata: Mapping[str, Value], name: str) -> Hparams:
    """The metadata as a checkpoint holds it: lists are arrays."""
    kept = {f"{name}.{k}": np.array(v) if isinstance(v, list) else v for k, v in metadata.items()}
    return Hparams(kept, name, vocab=VOCAB)


def tiny(name: str, *, optional: bool = False, **changed: Value) -> Tiny:
    """A good checkpoint of an architecture; `optional` adds the tensors that a file may have.

    `changed` sets metadata, with __ for a dot.
    """
    own = {key.replace("__", "."): value for key, value in changed.items()}
    architecture = architecture_of(name)
    made = Tiny(architecture.name, {**tiny_metadata(name), **own})
    config = architecture.read(_hparams(made.metadata, architecture.name))
    random = np.random.default_rng(3)
    for tensor in named_tensors(architecture, config):
        if tensor.row.required or optional:
            drawn = random.standard_normal(tensor.shape) * 0.2
            if "rope" in tensor.name:
                drawn = random.uniform(0.5, 1.5, tensor.shape)
            made.tensors[tensor.name] = drawn.astype(np.float32)
    return made


def last_of(name: str, row: TensorRow) -> str:
    """The tensor of a table's row in the last layer that has one, in the tiny checkpoint of an architecture."""
    architecture = architecture_of(name)
    config = architecture.read(_hparams(tiny_metadata(name), architecture.name))
    return [tensor.name for tensor in named_tensors(architecture, config) if tensor.row == row][-1]


def _add(writer: gguf.GGUFWriter, key: str, value: Value) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint64(key, value) if value >= 0 else writer.add_int64(key, value)
    elif isinstance(value, float):
        writer.add_float64(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value)
