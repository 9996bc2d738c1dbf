"""The checkpoints under tests/data: random weights, each with logits of an independent implementation.

`model.gguf` is the checkpoint, `reference.npz` the logits that float arithmetic gives on its dequantised weights (and
`reference_long.npz`, where there is one, those at some positions of a longer sequence), `info.json` how far another
implementation under 8-bit activations is from them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lane.checkpoint.gguf import Checkpoint
from lane.models.recognise import Model, recognise

DATA = Path(__file__).parents[2] / "data"

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Reference:
    """Tokens, the logits at some of their positions, and the other implementation's error and top token there."""

    tokens: list[int]
    positions: npt.NDArray[np.int64]
    logits: F64
    peer_error: F64
    peer_top: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Fixture:
    """One checkpoint. `context` is what its reference was computed for, where that matters."""

    folder: str
    name: str
    context: int | None = None

    @property
    def path(self) -> Path:
        """The checkpoint's file."""
        return DATA / self.folder / self.name / "model.gguf"

    def open(self, context: int | None = None) -> tuple[Checkpoint, Model]:
        """The checkpoint and its recognised model, for `context` positions (default: what the reference needs)."""
        checkpoint = Checkpoint.open(self.path)
        return checkpoint, recognise(checkpoint, context or self.context)

    def model(self, context: int | None = None) -> Model:
        """The recognised model alone."""
        return self.open(context)[1]

    @cached_property
    def reference(self) -> Reference:
        """Logits at every position of a short sequence."""
        return _load(self.path.with_name("reference.npz"))

    @property
    def has_long(self) -> bool:
        """Whether there is a long sequence."""
        return self.path.with_name("reference_long.npz").exists()

    @cached_property
    def long(self) -> Reference:
        """Logits at some positions of a long sequence."""
        return _load(self.path.with_name("reference_long.npz"))

    @cached_property
    def info(self) -> dict[str, object]:
        """What is known about the file."""
        info: dict[str, object] = json.loads(self.path.with_name("info.json").read_text())
        return info


def _load(path: Path) -> Reference:
    with np.load(path) as arrays:
        tokens = [int(t) for t in arrays["tokens"]]
        positions = arrays["positions"] if "positions" in arrays else np.arange(len(tokens))
        return Reference(
            tokens,
            positions.astype(np.int64),
            arrays["logits"].astype(np.float64),
            arrays["llamacpp_error"].astype(np.float64),
            arrays["llamacpp_top1"].astype(np.int64),
        )


def relative_rms(found: F64, wanted: F64) -> float:
    """√(Σ(found − wanted)² / Σwanted²)."""
    return float(np.sqrt(((found - wanted) ** 2).sum() / (wanted**2).sum()))


FAMILIES = (
    *(
        Fixture("families", name)
        for name in (
            "llama",
            "llama_odd",
            "llama_bias_tied",
            "llama_rope3",
            "llama_yarn",
            "llama_linear",
            "qwen2",
            "qwen3",
            "gemma",
            "gemma2",
            "gemma3",
            "smollm3",
            "granite",
            "minicpm",
            "minicpm_longrope",
            "olmo2",
            "phi3",
            "starcoder2",
        )
    ),
    Fixture("families", "phi3_longrope", context=2048),  # its reference is within the original context
)

# Families whose graphs the reference interpreter runs, and no device yet: link has no launch for an op of theirs.
GRAPHS = tuple(
    Fixture("families", name)
    for name in (
        *("mixtral", "qwen2_moe", "qwen3_moe", "qwen3_moe_odd", "olmoe", "granitemoe", "gpt_oss", "gpt_oss_odd"),
        *("glm4_moe", "qwen3_next", "qwen3_next_odd", "qwen3_5", "qwen3_5_moe", "lfm2", "lfm2_moe"),
        *("deepseek_v2", "deepseek_v3", "minicpm3"),
    )
)

FORMATS = tuple(
    Fixture("formats", name)
    for name in (
        *("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q2_K", "Q3_K_M", "Q4_K_M", "Q5_K_M", "Q6_K", "IQ4_NL"),
        *("IQ4_XS", "IQ3_S", "IQ3_XXS", "IQ2_S", "IQ2_XS", "IQ2_XXS", "IQ1_S", "IQ1_M", "TQ1_0", "TQ2_0"),
        "gemma2_Q4_K_M",
    )
)

FIXTURES = FAMILIES + FORMATS

BY_NAME = {fixture.name: fixture for fixture in (*FIXTURES, *GRAPHS)}

# For stages that tell formats apart only by how their matrices multiply: of formats one of floats and one of blocks.
MODELS = (*FAMILIES, BY_NAME["F16"], BY_NAME["Q4_K_M"])
