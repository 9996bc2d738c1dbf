"""Choosing the next token from a row of logits.

Order of the filters, as users of other programs expect it: top-k, top-p, min-p, then temperature. Temperature 0 is
greedy: the lowest index of the largest logit. NaN is never chosen. No filter sorts a whole vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lane.arguments import number, refuse, whole
from lane.launch.record import F32

Ids = npt.NDArray[np.int64]

FIRST_BEST = 256  # candidates that top-p sorts at first; the rest only if these do not reach its share
MORE_BEST = 16  # and by what factor it then sorts more


@dataclass(frozen=True, slots=True)
class Sampling:
    """What to sample by; the defaults are greedy and filter nothing."""

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        _check("temperature", self.temperature, lambda t: 0 <= t < math.inf, "0 or more")
        if self.top_k is not None:
            whole("sampling: top_k", self.top_k, 1)
        if self.top_p is not None:
            _check("top_p", self.top_p, lambda p: 0 < p <= 1, "above 0, at most 1")
        if self.min_p is not None:
            _check("min_p", self.min_p, lambda p: 0 <= p <= 1, "0 to 1")
        if self.seed is not None:
            whole("sampling: seed", self.seed, 0)


class Sampler:
    """Draws tokens by one `Sampling`; the generator's state is its own."""

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling
        self._random = np.random.default_rng(sampling.seed)

    def choose(self, logits: F32) -> int:
        """The next token's id."""
        temperature = self._sampling.temperature
        if temperature == 0:
            return greedy(logits)
        kept = candidates(logits, self._sampling)
        reached = np.cumsum(_weights(logits[kept], temperature), dtype=np.float64)
        drawn = np.searchsorted(reached, self._random.random() * reached[-1], side="right")
        return int(kept[min(int(drawn), len(kept) - 1)])


def greedy(logits: F32) -> int:
    """The lowest id of the largest logit."""
    best = int(np.argmax(logits))  # numpy's arg-max is a NaN's where there is one
    return best if logits[best] == logits[best] else int(np.argmax(np.where(np.isnan(logits), -np.inf, logits)))


def candidates(logits: F32, sampling: Sampling) -> Ids:
    """The ids that the filters leave: at least one."""
    ids: Ids = np.flatnonzero(~np.isnan(logits))
    if len(ids) == 0:
        return np.zeros(1, np.int64)
    if math.isinf(top := float(logits[ids].max())):  # nothing finite compares with it
        return np.asarray(ids[logits[ids] == top])
    if sampling.top_k is not None:
        ids = best_ids(logits, ids, sampling.top_k)
    if sampling.top_p is not None:
        ids = _reaching(logits, ids, sampling.top_p)
    if sampling.min_p:
        ids = ids[logits[ids] >= top + math.log(sampling.min_p)]
    return ids


def best_ids(logits: F32, ids: Ids, count: int) -> Ids:
    """The `count` best of `ids` by falling logit, equal ones by rising id."""
    if count < len(ids):
        least = np.partition(logits[ids], -count)[-count]
        ids = ids[logits[ids] >= least]
    return ids[np.argsort(-logits[ids], kind="stable")][:count]


def log_probability(logits: F32, token: int) -> float:
    """ln of the token's share of the row's softmax at temperature 1, to about 1e-6."""
    below = _below(logits)
    return float(below[token]) - math.log(np.exp(below).sum(dtype=np.float64))


def _reaching(logits: F32, ids: Ids, share: float) -> Ids:
    """The fewest of the best whose weights reach `share` of all, best first."""
    needed = share * _weights(logits[ids]).sum(dtype=np.float64)
    count = FIRST_BEST
    while True:
        best = best_ids(logits, ids, count)
        reached = np.cumsum(_weights(logits[best]), dtype=np.float64)
        if reached[-1] >= needed or count >= len(ids):
            return best[: int(np.searchsorted(reached, needed)) + 1]
        count *= MORE_BEST


def _weights(x: F32, temperature: float = 1.0) -> F32:
    """Shares of the softmax up to a factor, the largest being 1."""
    below = _below(x)
    if temperature != 1.0:
        with np.errstate(over="ignore"):  # a weight too small for a number is 0
            below = (below.astype(np.float64) / temperature).astype(np.float32)
    return np.asarray(np.exp(below))


def _below(x: F32) -> F32:
    """How far each is below the largest; all others are infinitely far below an infinite one."""
    top = x.max()
    if np.isinf(top):
        return np.where(x == top, np.float32(0), np.float32(-np.inf))
    return np.asarray(x - top)


def _check(name: str, value: object, holds: Callable[[float], bool], allowed: str) -> None:
    if not holds(number(f"sampling: {name}", value, allowed)):
        refuse(f"sampling: {name}", value, allowed)
