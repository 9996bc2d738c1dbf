"""Choosing the next token from a row of logits.

Order of the filters, as users of other programs expect it: top-k, top-p, min-p, then temperature. Temperature 0 is greedy: the
lowest index of the largest logit. Everything is float64 over the row, so a seed gives the same text on every machine that gives the
same logits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lane.errors import UsageError
from lane.launch.record import F32, F64


@dataclass(frozen=True, slots=True)
class Sampling:
    """What to sample by; the defaults are greedy and filter nothing."""

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        _need(math.isfinite(self.temperature) and self.temperature >= 0, "temperature", self.temperature, "0 or more")
        _need(self.top_k is None or self.top_k >= 1, "top_k", self.top_k, "1 or more")
        _need(self.top_p is None or 0 < self.top_p <= 1, "top_p", self.top_p, "above 0, at most 1")
        _need(self.min_p is None or 0 <= self.min_p <= 1, "min_p", self.min_p, "0 to 1")
        _need(self.seed is None or self.seed >= 0, "seed", self.seed, "0 or more")


class Sampler:
    """Draws tokens by one `Sampling`; the generator's state is its own."""

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling
        self._random = np.random.default_rng(sampling.seed)

    def choose(self, logits: F32) -> int:
        """The next token's id."""
        s = self._sampling
        if s.temperature == 0:
            return int(np.argmax(np.where(np.isnan(logits), -np.inf, logits)))
        kept = self._kept(logits)
        weights = _softmax(logits[kept].astype(np.float64) / s.temperature)
        return int(kept[np.searchsorted(np.cumsum(weights), self._random.random() * weights.sum(), side="right")])

    def _kept(self, logits: F32) -> np.ndarray:
        s = self._sampling
        order = _descending(logits, s.top_k)
        if s.top_p is not None or s.min_p is not None:
            p = _softmax(logits[order].astype(np.float64))
            keep = np.ones(len(order), bool)
            if s.top_p is not None:  # the fewest whose sum reaches top_p
                keep &= np.concatenate([[True], np.cumsum(p)[:-1] < s.top_p])
            if s.min_p is not None:
                keep &= p >= s.min_p * p[0]
            order = order[keep]
        return order


def log_probability(logits: F32, token: int) -> float:
    """ln of the token's share of the row's softmax at temperature 1."""
    x = logits.astype(np.float64)
    top = x.max()
    return float(x[token] - top - np.log(np.exp(x - top).sum()))


def _descending(logits: F32, top_k: int | None) -> np.ndarray:
    """Ids by falling logit, equal ones by rising id; NaN never."""
    ids = np.flatnonzero(~np.isnan(logits))
    if len(ids) == 0:
        return np.zeros(1, np.int64)
    if top_k is not None and top_k < len(ids):
        least = -np.partition(-logits[ids], top_k - 1)[top_k - 1]
        ids = ids[logits[ids] >= least]
    return ids[np.argsort(-logits[ids], kind="stable")][:top_k]


def _softmax(x: F64) -> F64:
    e: F64 = np.exp(x - x.max())
    return e / e.sum()


def _need(holds: bool, name: str, value: object, allowed: str) -> None:
    if not holds:
        raise UsageError(f"sampling: {name} is {value}, allowed {allowed}")
