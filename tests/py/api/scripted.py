"""Sequences that say what they are told to, for tests of what the interface does with a device's logits.

They hold their callers to the order of calls that real ones need: every token is fed at its position, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from bench.make_checkpoint import CONTROLS, SIZES, make
from lane.api import Model
from lane.checkpoint.gguf import Checkpoint

VOCAB = SIZES["tiny"].vocab
END = 0  # the end token of the checkpoints that bench.make_checkpoint makes
FIRST_BYTE = len(CONTROLS)  # byte b is token FIRST_BYTE + b


class ScriptedSequence:
    """After a prompt, the best token of each step is the next of `script`, whatever it is fed."""

    def __init__(self, script: Sequence[int], context: int) -> None:
        self.script = list(script)
        self.context = context
        self.fed: list[int] = []
        self.chunks: list[int] = []
        self._next: int | None = None
        self._prompt = 0
        self.resets = 0
        self.fails = False  # whether the next step does not return
        self.closed = False

    def reset(self) -> None:
        self.fed, self.chunks = [], []
        self.resets += 1

    def prefill(self, tokens: Sequence[int], pos: int, largest: int) -> None:
        assert pos <= len(self.fed) and not self.closed
        if self.fails:
            raise KeyboardInterrupt
        self.fed[pos:] = tokens
        self.chunks.append(len(tokens))
        self._prompt = len(self.fed)

    def prefill_all(self, tokens: Sequence[int], pos: int, largest: int, out: np.ndarray) -> None:
        self.prefill(tokens, pos, largest)
        out[:] = 0

    def set_token(self, token: int) -> None:
        self._next = token

    def decode(self, steps: int) -> None:
        assert self._next is not None and len(self.fed) < self.context and steps == 1 and not self.closed
        self.fed.append(self._next)
        self._next = None

    def logits(self) -> np.ndarray:
        row = np.full(VOCAB, -10.0, np.float32)
        row[self.script[len(self.fed) - self._prompt]] = 10.0
        return row

    def close(self) -> None:
        self.closed = True


class ScriptedEngine:
    """Gives out scripted sequences; there is no plan behind them."""

    def __init__(self, script: Sequence[int], context: int, can_rewind: bool) -> None:
        self.script, self.context, self.vocab = script, context, VOCAB
        self.plan = SimpleNamespace(can_rewind=can_rewind)
        self.device = SimpleNamespace(memory=lambda: SimpleNamespace(parts=lambda: {"checkpoint": 1, "caches": 2}))
        self.sequences: list[ScriptedSequence] = []

    def require(self, keys: object) -> None:
        pass

    def require_prompt(self, count: int, *_: object) -> None:
        assert count >= 1

    def open(self) -> ScriptedSequence:
        self.sequences.append(ScriptedSequence(self.script, self.context))
        return self.sequences[-1]


def scripted_model(folder: Path, script: Sequence[int], context: int = 64, can_rewind: bool = True) -> Model:
    """A model whose sequences are scripted; checkpoint and tokenizer are real."""
    path = folder / "tiny.gguf"
    if not path.exists():
        make(path, "llama", SIZES["tiny"], ("Q8_0", "Q8_0"))
    engine = ScriptedEngine(script, context, can_rewind)
    return Model(Checkpoint.open(path), engine, 0.0)  # type: ignore[arg-type]


def byte_ids(text: str) -> list[int]:
    """One token for each byte."""
    return [FIRST_BYTE + byte for byte in text.encode()]
