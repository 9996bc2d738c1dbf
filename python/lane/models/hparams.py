"""Reading an architecture's metadata: typed, bounded, and complete.

Every key a family reads is remembered; `refuse_unread` then names any key under the architecture's prefix that nothing
read, because metadata that is not understood may change results.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from lane.errors import CheckpointError, UnsupportedError

T = TypeVar("T")

MAX_COUNT = 1 << 24  # of anything counted by a hyperparameter: above any sense, far below any overflow

# Keys that describe a checkpoint and change no result.
_INERT = frozenset({"model_size", "tensor_data_layout"})


class Hparams:
    """The metadata of one architecture, read by key without its prefix, and the vocabulary's size."""

    def __init__(self, metadata: Mapping[str, object], architecture: str, *, vocab: int) -> None:
        self.vocab = vocab  # rows of the embedding
        self._metadata = metadata
        self._prefix = architecture + "."
        self._read: set[str] = set()
        self.taken: dict[str, object] = {}  # by whole key, what is taken for one that the file lacks

    def count(self, key: str, default: int | None = None, *, low: int = 1, high: int = MAX_COUNT) -> int:
        """A whole number from `low` to `high`."""
        return self._whole(key, self._get(key, default), low, high)

    def per_layer(
        self, key: str, layers: int, default: tuple[int, ...] | None = None, *, low: int = 1
    ) -> tuple[int, ...]:
        """A whole number from `low` for each layer; the file may hold one for all of them."""
        same = default[0] if default and len(set(default)) == 1 else default
        value = self._get(key, same)
        if isinstance(value, tuple):
            return value
        if isinstance(value, np.ndarray) and value.shape == (layers,) and value.dtype.kind in "iu":
            return tuple(self._whole(key, v, low, MAX_COUNT) for v in value.tolist())
        return (self._whole(key, value, low, MAX_COUNT),) * layers

    def number(self, key: str, default: float | None = None, *, low: float, high: float) -> float:
        """A finite number from `low` to `high`."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise self._bad(key, value, f"a number from {low} to {high}")
        if not math.isfinite(value) or not low <= value <= high:
            raise self._bad(key, value, f"a number from {low} to {high}")
        return float(value)

    def choice(self, key: str, default: str, allowed: tuple[str, ...]) -> str:
        """One of a few strings; UnsupportedError for another."""
        value = self._get(key, default)
        if not isinstance(value, str):
            raise self._bad(key, value, "a string")
        if value not in allowed:
            raise UnsupportedError(
                f"models: metadata key '{self._prefix}{key}': found '{value}', lane runs {', '.join(allowed)}"
            )
        return value

    def flag(self, key: str, default: bool) -> bool:
        """A yes or no."""
        value = self._get(key, default)
        if not isinstance(value, bool):
            raise self._bad(key, value, "true or false")
        return value

    def flags(self, key: str, layers: int) -> tuple[bool, ...]:
        """A yes or no a layer, stored as an array of booleans or of 0 and 1."""
        value = self._get(key, None)
        if not isinstance(value, np.ndarray) or value.shape != (layers,) or not np.all((value == 0) | (value == 1)):
            raise self._bad(key, value, f"{layers} times true or false, one a layer")
        return tuple(bool(v) for v in value)

    def has(self, key: str) -> bool:
        """Whether the file has the key; asking counts as reading it."""
        self._read.add(key)
        return self._prefix + key in self._metadata

    def is_array(self, key: str) -> bool:
        """Whether the file holds an array under the key."""
        return isinstance(self._metadata.get(self._prefix + key), np.ndarray)

    def ignore(self, *keys: str) -> None:
        """Declares keys that the family knows to change nothing."""
        self._read.update(keys)

    def expect(self, key: str, value: float | bool) -> None:
        """Refuses a file that says anything but the one value that lane knows how to run; it need not say it."""
        found = self._get(key, value)
        same = isinstance(found, (int, float)) and math.isclose(found, value, rel_tol=1e-6, abs_tol=0.0)
        if not same:
            raise UnsupportedError(
                f"models: metadata key '{self._prefix}{key}': found {_short(found)}, lane runs {value} alone"
            )

    def require(self, holds: bool, what: str) -> None:
        """Refuses hyperparameters that contradict each other; `what` names the values found and allowed."""
        if not holds:
            raise CheckpointError(f"models: metadata of '{self._prefix[:-1]}': {what}")

    def refuse_unread(self) -> None:
        """UnsupportedError naming the first key of the architecture that nothing read."""
        for key in self._metadata:
            name = key.removeprefix(self._prefix)
            if name != key and name not in self._read and name not in _INERT:
                raise UnsupportedError(
                    f"models: metadata key '{key}' (value {_short(self._metadata[key])}): architecture "
                    f"'{self._prefix[:-1]}' does not read it and it may change results; allowed: keys it reads"
                )

    def _get(self, key: str, default: T | None) -> object:
        self._read.add(key)
        value = self._metadata.get(self._prefix + key, default)
        if value is None:
            raise CheckpointError(f"models: metadata key '{self._prefix}{key}': not in the file, required")
        if self._prefix + key not in self._metadata:
            self.taken[self._prefix + key] = value
        return value

    def _whole(self, key: str, value: object, low: int, high: int) -> int:
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
            raise self._bad(key, value, f"a whole number from {low} to {high}")
        return int(value)

    def _bad(self, key: str, value: object, allowed: str) -> CheckpointError:
        return CheckpointError(f"models: metadata key '{self._prefix}{key}': found {_short(value)}, allowed {allowed}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
