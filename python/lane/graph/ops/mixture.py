"""Mixture of experts. Declared with its shape rule; its float64 meaning comes with the mixture families."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import ClassVar

from lane.graph.ops.base import Op, Reads, Shape, Tensors, Writes


class RouterScore(enum.Enum):
    """How router logits become scores."""

    SOFTMAX = "softmax"
    SIGMOID = "sigmoid"


@dataclass(frozen=True)
class Router:
    """How experts are chosen and weighted: `k` of `experts`, in `groups` of which `groups_used` stay."""

    score: RouterScore
    experts: int
    k: int
    renormalise: bool
    scale: float = 1.0
    groups: int = 1
    groups_used: int = 1


@dataclass(frozen=True)
class Moe(Op):
    """out = Σ over the chosen experts e of weight_e · down_e(act(gate_e x)·up_e x).

    `choice_bias` is added to the scores for the choice only. Gate, up and down hold the experts one after the other.
    """

    kind: ClassVar[str] = "moe"

    x: Reads
    router_w: Reads
    choice_bias: Reads | None
    gate: Reads
    up: Reads
    down: Reads
    out: Writes
    router: Router

    def infer(self, tensors: Tensors) -> Shape:
        x, gate, up, down = (tensors[n] for n in (self.x, self.gate, self.up, self.down))
        experts = self.router.experts
        self.need(1 <= self.router.k <= experts, f"{self.router.k} experts a row, allowed 1 to {experts}")
        for t in (gate, up):
            self.need(
                t.cols == x.cols and t.rows % experts == 0,
                f"'{t.name}' is {t.rows}x{t.cols}, allowed {experts}·n x {x.cols}",
            )
        self.need(
            (down.rows, down.cols) == (experts * x.cols, gate.rows // experts),
            f"'{down.name}' is {down.rows}x{down.cols}, allowed {experts * x.cols}x{gate.rows // experts}",
        )
        return x.rows, x.cols
