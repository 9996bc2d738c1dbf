"""Mixtures of experts: the keys that families share, their tensors, the feed-forward block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lane.graph.ops import Moe
from lane.launch.meaning.elementwise import UnaryOp
from lane.launch.meaning.mixture import Clamp, Router, RouterScore
from lane.models.architecture import Config, TensorRow, may, need, only
from lane.models.blocks import Block, gated_ffn
from lane.models.hparams import Hparams
from lane.models.part import Dim, Part
from lane.models.rotation import Rotation
from lane.models.shape import DenseShape
from lane.models.step import StepBuilder

# The file's numbers for how logits become scores.
GATING: Mapping[int, RouterScore] = {1: RouterScore.SOFTMAX, 2: RouterScore.SIGMOID}

# Scores that sum to a group's: DeepSeek V2 (arXiv:2405.04434) takes the best one, V3 (arXiv:2412.19437) the best two.
GROUP_BEST: Mapping[RouterScore, int] = {RouterScore.SOFTMAX: 1, RouterScore.SIGMOID: 2}


@dataclass(frozen=True)
class Experts(Part):
    """How experts are chosen, the width of one and of the shared ones (0: none); `dense` layers come first."""

    router: Router
    ff: int
    shared_ff: int
    layers: tuple[int, ...]
    dense: tuple[int, ...]
    clamp: Clamp | None = None

    def dims(self) -> Mapping[str, Dim]:
        """The names that tensor tables use."""
        return {"experts": self.router.experts, "ff_expert": self.ff, "ff_shared": self.shared_ff}

    def kinds(self) -> Mapping[str, tuple[int, ...]]:
        """Layers of experts, and those with one feed-forward block for all rows."""
        shared = self.layers if self.shared_ff else ()
        return {"experts": self.layers, "dense": self.dense, "shared": shared}


@dataclass(frozen=True)
class MixtureConfig(Config):
    """What the file of a decoder with one rotation and experts says."""

    rotation: Rotation
    experts: Experts


@dataclass(frozen=True, slots=True)
class Widths:
    """Widths of an expert and of the shared ones, where the file names none. None: it must name the one; the family has
    none of the other."""

    ff: int | None = None
    shared_ff: int | None = None


def read_experts(
    hparams: Hparams, shape: DenseShape, widths: Widths, *, renormalise: bool, clamp: Clamp | None = None
) -> Experts:
    """The keys of a family whose router is a softmax over all experts, in every layer."""
    router = _read_router(hparams, RouterScore.SOFTMAX, renormalise)
    ff = hparams.count("expert_feed_forward_length", widths.ff)
    shared_ff = 0
    if widths.shared_ff is not None:
        shared_ff = hparams.count("expert_shared_feed_forward_length", widths.shared_ff, low=0)
    return Experts(router, ff, shared_ff, tuple(range(shape.layers)), (), clamp)


def read_routed_experts(
    hparams: Hparams, shape: DenseShape, score: RouterScore, *, renormalise: bool | None = None
) -> Experts:
    """The keys of a family whose file says how it routes; `score` is that of a file which does not.

    `renormalise` is for families that always do or never.
    """
    code = hparams.count("expert_gating_func", next(c for c, s in GATING.items() if s is score))
    hparams.require(code in GATING, f"expert_gating_func is {code}, allowed 1 (softmax) or 2 (sigmoid)")
    norm = hparams.flag("expert_weights_norm", bool(renormalise))
    hparams.require(renormalise is None or norm == renormalise, f"expert_weights_norm is {norm}, allowed {renormalise}")
    router = _read_router(hparams, GATING[code], norm)
    ff = hparams.count("expert_feed_forward_length")
    shared = hparams.count("expert_shared_count", 0, low=0)
    leading = hparams.count("leading_dense_block_count", 0, low=0)
    hparams.require(
        leading <= shape.layers, f"leading_dense_block_count is {leading}, allowed at most {shape.layers}, the layers"
    )
    return Experts(
        router, ff, shared * ff, tuple(range(leading, shape.layers)), tuple(range(min(leading, shape.layers)))
    )


def _read_router(hparams: Hparams, score: RouterScore, renormalise: bool) -> Router:
    experts = hparams.count("expert_count")
    used = hparams.count("expert_used_count")
    hparams.require(used <= experts, f"expert_used_count is {used}, allowed at most expert_count, {experts}")
    groups = hparams.count("expert_group_count", 1)
    hparams.require(experts % groups == 0, f"expert_group_count is {groups}, allowed a divisor of {experts}")
    groups_used = hparams.count("expert_group_used_count", groups)
    hparams.require(groups_used <= groups, f"expert_group_used_count is {groups_used}, allowed at most {groups}")
    left = experts // groups * groups_used
    hparams.require(
        used <= left, f"expert_used_count is {used}, allowed at most {left}, the experts of the groups used"
    )
    scale = hparams.number("expert_weights_scale", 1.0, low=1e-6, high=1e6)
    return Router(score, experts, used, renormalise, scale, groups, groups_used, GROUP_BEST[score])


def mixture_ffn(b: StepBuilder, experts: Experts | None, act: UnaryOp = UnaryOp.SILU) -> Block:
    """The feed-forward block of a family with experts in some of its layers."""

    def ffn(x: str, layer: int) -> str:
        if experts is not None and layer in experts.layers:
            return mixture(b, x, layer, experts)
        return gated_ffn(b, x, layer, act)

    return ffn


def mixture(b: StepBuilder, x: str, layer: int, experts: Experts) -> str:
    """The chosen experts' outputs, weighted and summed, then the shared ones'; biases where the file has them."""
    at = f"blk.{layer}"

    def vector(name: str) -> str | None:
        return b.vector(f"{at}.{name}") if b.has(f"{at}.{name}") else None

    def shared(part: str) -> str | None:
        return b.matrix(f"{at}.ffn_{part}_shexp.weight") if experts.shared_ff else None

    gate, up, down = (b.matrix(f"{at}.ffn_{part}_exps.weight") for part in ("gate", "up", "down"))
    return b.add(
        Moe(
            x,
            b.matrix(f"{at}.ffn_gate_inp.weight"),
            vector("exp_probs_b.bias"),
            gate,
            up,
            down,
            f"{at}.ffn_mixed",
            experts.router,
            router_bias=vector("ffn_gate_inp.bias"),
            gate_bias=vector("ffn_gate_exps.bias"),
            up_bias=vector("ffn_up_exps.bias"),
            down_bias=vector("ffn_down_exps.bias"),
            clamp=experts.clamp,
            shared_gate=shared("gate"),
            shared_up=shared("up"),
            shared_down=shared("down"),
            shared_score=vector("ffn_gate_inp_shexp.weight"),
        )
    )


EXPERTS: tuple[TensorRow, ...] = only(
    "experts",
    (
        need("blk.{}.ffn_gate_inp.weight", "experts", "embd", plain=True),
        need("blk.{}.ffn_gate_exps.weight", "experts", "ff_expert", "embd"),
        need("blk.{}.ffn_up_exps.weight", "experts", "ff_expert", "embd"),
        need("blk.{}.ffn_down_exps.weight", "experts", "embd", "ff_expert"),
    ),
)
EXPERTS_BIAS: tuple[TensorRow, ...] = only(
    "experts",
    (
        need("blk.{}.ffn_gate_inp.bias", "experts"),
        need("blk.{}.ffn_gate_exps.bias", "experts", "ff_expert", plain=True),
        need("blk.{}.ffn_up_exps.bias", "experts", "ff_expert", plain=True),
        need("blk.{}.ffn_down_exps.bias", "experts", "embd", plain=True),
    ),
)
CHOICE_BIAS: tuple[TensorRow, ...] = only("experts", (may("blk.{}.exp_probs_b.bias", "experts"),))
SHARED_EXPERTS: tuple[TensorRow, ...] = only(
    "shared",
    (
        need("blk.{}.ffn_gate_shexp.weight", "ff_shared", "embd"),
        need("blk.{}.ffn_up_shexp.weight", "ff_shared", "embd"),
        need("blk.{}.ffn_down_shexp.weight", "embd", "ff_shared"),
    ),
)
SHARED_SCORE: tuple[TensorRow, ...] = only("shared", (need("blk.{}.ffn_gate_inp_shexp.weight", "embd"),))
