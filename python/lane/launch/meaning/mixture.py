"""Mixture of experts: scores, the choice, the weighted sum."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lane.launch.meaning.elementwise import UnaryOp, activate, clamped_swiglu, gated
from lane.launch.meaning.product import product
from lane.launch.record import F64


class RouterScore(enum.Enum):
    """How router logits become scores: over all experts, before the choice."""

    SOFTMAX = "softmax"
    SIGMOID = "sigmoid"


@dataclass(frozen=True, slots=True)
class Router:
    """How experts are chosen and weighted.

    `k` of `experts` by the highest score, of equals the lowest index. With `groups` > 1 only those of the
    `groups_used` groups whose `group_best` highest scores sum highest are there to choose from. A weight is the
    expert's score (over the sum of the chosen ones when `renormalise`) times `scale`.
    """

    score: RouterScore
    experts: int
    k: int
    renormalise: bool
    scale: float = 1.0
    groups: int = 1
    groups_used: int = 1
    group_best: int = 2

    def __str__(self) -> str:
        said = [f"{self.k}/{self.experts}"]
        said += ["renormalised"] if self.renormalise else []
        said += [f"scale={self.scale:.9g}"] if self.scale != 1.0 else []
        said += [f"groups={self.groups_used}/{self.groups}by{self.group_best}"] if self.groups > 1 else []
        return f"{self.score.value}({','.join(said)})"


@dataclass(frozen=True, slots=True)
class Clamp:
    """Clamped SwiGLU's limit and slope."""

    limit: float
    slope: float

    def __str__(self) -> str:
        return f"({self.limit:.9g},{self.slope:.9g})"


@dataclass(frozen=True, slots=True)
class GatedUnit:
    """A gated feed-forward unit: gate and up n × k, down k × n, their biases; `act`, or clamped SwiGLU."""

    gate: F64
    up: F64
    down: F64
    gate_bias: F64 | None
    up_bias: F64 | None
    down_bias: F64 | None
    act: UnaryOp
    clamp: Clamp | None

    def __call__(self, x: F64) -> F64:
        """down(act(gate(x))·up(x))."""
        gate, up = product(x, self.gate, self.gate_bias), product(x, self.up, self.up_bias)
        if self.clamp is None:
            return product(gated(self.act, gate, up), self.down, self.down_bias)
        return product(clamped_swiglu(gate, up, self.clamp.limit, self.clamp.slope), self.down, self.down_bias)


def route(logits: F64, choice_bias: F64 | None, router: Router) -> tuple[npt.NDArray[np.int64], F64]:
    """Chosen experts and their weights, rows × k each; `choice_bias` joins the scores for the choice alone."""
    scores = _scores(logits, router.score)
    wanted = scores if choice_bias is None else scores + choice_bias
    if router.groups > 1:
        wanted = np.where(_kept(wanted, router), wanted, -np.inf)
    chosen = _highest(wanted, router.k)
    weights = np.take_along_axis(scores, chosen, axis=1)
    if router.renormalise:
        weights = weights / weights.sum(axis=1, keepdims=True)
    return chosen, weights * router.scale


def mixed(x: F64, chosen: npt.NDArray[np.int64], weights: F64, expert: Callable[[int], GatedUnit]) -> F64:
    """Σ over a row's chosen experts of weight · expert(x)."""
    y = np.zeros_like(x)
    for e in np.unique(chosen):
        rows, places = np.nonzero(chosen == e)
        y[rows] += weights[rows, places][:, None] * expert(int(e))(x[rows])
    return y


def _scores(logits: F64, score: RouterScore) -> F64:
    if score is RouterScore.SIGMOID:
        return activate(UnaryOp.SIGMOID, logits)
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def _kept(wanted: F64, router: Router) -> npt.NDArray[np.bool_]:
    """Which experts lie in a group that stays."""
    grouped = wanted.reshape(len(wanted), router.groups, -1)
    best = np.sort(grouped, axis=2)[:, :, -router.group_best :].sum(axis=2)
    stays = np.zeros(best.shape, np.bool_)
    np.put_along_axis(stays, _highest(best, router.groups_used), True, axis=1)
    return np.repeat(stays, grouped.shape[2], axis=1)


def _highest(values: F64, k: int) -> npt.NDArray[np.int64]:
    return np.argsort(-values, axis=1, kind="stable")[:, :k]
