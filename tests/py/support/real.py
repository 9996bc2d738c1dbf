"""Real checkpoints: smol.gguf and gemma.gguf in the folder that LANE_TEST_MODELS names, and what they generate.

A greedy case holds a prompt's ids and the 64 tokens that exact arithmetic on the dequantised weights chooses after it,
each with the gap between the two best logits. The files are what packages ship (third_party/models.in); a test that
needs one fails where it is missing.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.py.support.fixtures import DATA

VARIABLE = "LANE_TEST_MODELS"
NAMES = ("smol", "gemma")


@dataclass(frozen=True)
class Greedy:
    """One prompt and its exact continuation."""

    text: str
    prompt: list[int]
    tokens: list[int]
    gaps: list[float]

    def sure(self, gap: float) -> int:
        """How many tokens come before the first whose gap is under `gap`."""
        return next((i for i, g in enumerate(self.gaps) if g < gap), len(self.gaps))


def greedy(name: str) -> list[Greedy]:
    """The greedy cases of a real checkpoint."""
    cases = json.loads((DATA / "real" / f"greedy.{name}.json").read_text())
    return [Greedy(c["text"], c["prompt"], c["exact_tokens"], c["exact_gap"]) for c in cases]


def path(name: str) -> Path:
    """The file of a real checkpoint."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        pytest.fail(f"{VARIABLE} names no folder of real checkpoints")
    file = Path(folder) / f"{name}.gguf"
    if not file.exists():
        pytest.fail(f"{VARIABLE}: no {file.name} in {folder}")
    return file
