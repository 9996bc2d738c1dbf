"""A device that says what it is told to, for tests of what the interface does with a device's logits.

It holds the device to the order of calls that a real one needs: state is reset before a sequence, and every token is
fed at its position, once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.make_checkpoint import CONTROLS, SIZES, make
from lane.api import Model
from lane.checkpoint.gguf import Checkpoint

VOCAB = SIZES["tiny"].vocab
END = 0  # the end token of the checkpoints that bench.make_checkpoint makes
FIRST_BYTE = len(CONTROLS)  # byte b is token FIRST_BYTE + b


class ScriptedDevice:
    """After a prompt, the best token of each step is the next of `script`, whatever it is fed."""

    def __init__(self, script: Sequence[int], context: int = 64) -> None:
        self.script = list(script)
        self.context = context
        self.vocab = VOCAB
        self.fed: list[int] = []
        self.chunks: list[int] = []
        self._next: int | None = None
        self._prompt = 0
        self.resets = 0
        self.fails = False  # whether the next step does not return

    def prepare(self, count: int) -> None:
        assert count >= 1

    def reset(self) -> None:
        self.fed, self.chunks = [], []
        self.resets += 1

    def prefill(self, tokens: Sequence[int], pos: int) -> None:
        assert pos == len(self.fed)
        if self.fails:
            raise KeyboardInterrupt
        self.fed += tokens
        self.chunks.append(len(tokens))
        self._prompt = len(self.fed)

    def set_token(self, token: int) -> None:
        self._next = token

    def decode(self) -> None:
        assert self._next is not None and len(self.fed) < self.context
        self.fed.append(self._next)
        self._next = None

    def logits(self) -> np.ndarray:
        row = np.full(VOCAB, -10.0, np.float32)
        row[self.script[len(self.fed) - self._prompt]] = 10.0
        return row

    def all_logits(self, tokens: Sequence[int], largest: int | None) -> np.ndarray:
        self.reset()
        self.fed += tokens
        return np.zeros((len(tokens), VOCAB), np.float32)

    def memory(self) -> object:
        @dataclass
        class Parts:
            def parts(self) -> Mapping[str, int]:
                return {"checkpoint": 1, "caches": 2}

        return Parts()


def scripted_model(folder: Path, script: Sequence[int], context: int = 64) -> Model:
    """A model whose device is scripted; checkpoint and tokenizer are real."""
    path = folder / "tiny.gguf"
    if not path.exists():
        make(path, "llama", SIZES["tiny"], ("Q8_0", "Q8_0"))
    return Model(Checkpoint.open(path), None, ScriptedDevice(script, context), 0.0)  # type: ignore[arg-type]


def byte_ids(text: str) -> list[int]:
    """One token for each byte."""
    return [FIRST_BYTE + byte for byte in text.encode()]
