"""Mixture of experts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lane.graph.ops.base import Array, Arrays, Op, Reads, Shape, Tensors, Writes, f64, vector
from lane.graph.tensor import Values
from lane.launch.meaning.elementwise import UnaryOp, activate
from lane.launch.meaning.mixture import Clamp, GatedUnit, Router, mixed, route
from lane.launch.meaning.product import product


@dataclass(frozen=True)
class Moe(Op):
    """out = Σ over the chosen experts e of weight_e · down_e(act(gate_e x)·up_e x), then the shared experts' output.

    The router is checkpoint rows (experts × width), or with `router_f32` values stored transposed (width × experts);
    its logits may have a bias. `choice_bias` is added to the scores for the choice only. Gate, up and down hold the
    experts one after the other, and so do their biases; `clamp` makes the gated unit clamped SwiGLU. The shared experts
    are one unit, which every row runs through; `shared_score` (one row) weighs it by sigmoid(x·score).
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
    router_f32: bool = False
    router_bias: Reads | None = None
    gate_bias: Reads | None = None
    up_bias: Reads | None = None
    down_bias: Reads | None = None
    act: UnaryOp = UnaryOp.SILU
    clamp: Clamp | None = None
    shared_gate: Reads | None = None
    shared_up: Reads | None = None
    shared_down: Reads | None = None
    shared_score: Reads | None = None

    def infer(self, tensors: Tensors) -> Shape:
        x, experts = tensors[self.x], self.router.experts
        self._check_router(tensors, x.cols)
        gate, up, down = (tensors[n] for n in (self.gate, self.up, self.down))
        for t in (gate, up):
            self.need(
                t.cols == x.cols and t.rows == gate.rows and t.rows % experts == 0,
                f"'{t.name}' is {t.rows}x{t.cols}, allowed {experts}·n x {x.cols}",
            )
        width = gate.rows // experts
        self.need(
            (down.rows, down.cols) == (experts * x.cols, width),
            f"'{down.name}' is {down.rows}x{down.cols}, allowed {experts * x.cols}x{width}",
        )
        for name, cols in ((self.gate_bias, width), (self.up_bias, width), (self.down_bias, x.cols)):
            if name is not None:
                elems = tensors[name].elems
                self.need(elems == experts * cols, f"'{name}' has {elems} values, allowed {experts}·{cols}")
        self.need(self.clamp is None or self.act is UnaryOp.SILU, f"a clamped unit of {self.act.value}, allowed silu")
        self._check_shared(tensors, x.cols)
        return x.rows, x.cols

    def _check_router(self, tensors: Tensors, width: int) -> None:
        r, w = self.router, tensors[self.router_w]
        self.need(1 <= r.k <= r.experts, f"{r.k} experts a row, allowed 1 to {r.experts}")
        found = "f32 values" if isinstance(w.placement, Values) else "rows"
        allowed = "f32 values" if self.router_f32 else "rows"
        self.need(found == allowed, f"'{w.name}' is {found}, allowed {allowed}")
        shape = (width, r.experts) if self.router_f32 else (r.experts, width)
        self.need((w.rows, w.cols) == shape, f"'{w.name}' is {w.rows}x{w.cols}, allowed {shape[0]}x{shape[1]}")
        self.need(
            r.groups >= 1 and r.experts % r.groups == 0, f"{r.groups} groups, allowed a divisor of {r.experts} experts"
        )
        self.need(1 <= r.groups_used <= r.groups, f"{r.groups_used} groups used, allowed 1 to {r.groups}")
        left = r.groups_used * (r.experts // r.groups)
        self.need(r.k <= left, f"{r.k} experts a row, allowed at most {left}, those of the groups used")
        for name in (self.router_bias, self.choice_bias):
            if name is not None:
                elems = tensors[name].elems
                self.need(elems == r.experts, f"'{name}' has {elems} values, allowed {r.experts}")

    def _check_shared(self, tensors: Tensors, width: int) -> None:
        parts = (self.shared_gate, self.shared_up, self.shared_down)
        self.need(
            all(p is None for p in parts) or all(p is not None for p in parts),
            "a part of the shared experts, allowed gate, up and down, or none of them",
        )
        if self.shared_gate is None or self.shared_up is None or self.shared_down is None:
            self.need(self.shared_score is None, "a score of shared experts that are not there")
            return
        gate, up, down = tensors[self.shared_gate], tensors[self.shared_up], tensors[self.shared_down]
        for t, shape in ((gate, (gate.rows, width)), (up, (gate.rows, width)), (down, (width, gate.rows))):
            self.need((t.rows, t.cols) == shape, f"'{t.name}' is {t.rows}x{t.cols}, allowed {shape[0]}x{shape[1]}")
        if self.shared_score is not None:
            elems = tensors[self.shared_score].elems
            self.need(elems == width, f"'{self.shared_score}' has {elems} values, allowed {width}")

    def compute(self, arrays: Arrays) -> None:
        x = arrays[self.x]
        chosen, weights = route(self._logits(arrays, x), vector(arrays, self.choice_bias), self.router)
        y = mixed(x, chosen, weights, lambda e: self._expert(arrays, e))
        arrays[self.out] = y if self.shared_gate is None else y + self._shared(arrays, x)

    def _logits(self, arrays: Arrays, x: Array) -> Array:
        w = f64(arrays[self.router_w])
        return product(x, w.T if self.router_f32 else w, vector(arrays, self.router_bias))

    def _expert(self, arrays: Arrays, e: int) -> GatedUnit:
        gate, up, down = (self._matrix(arrays, name, e) for name in (self.gate, self.up, self.down))
        gate_bias, up_bias, down_bias = (
            self._bias(arrays, name, e) for name in (self.gate_bias, self.up_bias, self.down_bias)
        )
        return GatedUnit(gate, up, down, gate_bias, up_bias, down_bias, self.act, self.clamp)

    def _matrix(self, arrays: Arrays, name: str, e: int) -> Array:
        rows = len(arrays[name]) // self.router.experts
        return f64(arrays[name][e * rows : (e + 1) * rows])

    def _bias(self, arrays: Arrays, name: str | None, e: int) -> Array | None:
        return None if name is None else f64(arrays[name].reshape(self.router.experts, -1)[e])

    def _shared(self, arrays: Arrays, x: Array) -> Array:
        names = (self.shared_gate, self.shared_up, self.shared_down)
        gate, up, down = (f64(arrays[name]) for name in names if name is not None)
        y = GatedUnit(gate, up, down, None, None, None, self.act, self.clamp)(x)
        score = vector(arrays, self.shared_score)
        return y if score is None else y * activate(UnaryOp.SIGMOID, x @ score)[:, None]
