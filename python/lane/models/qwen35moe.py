"""qwen35moe: qwen35 with experts by a softmax, renormalised, and a shared one weighed by a sigmoid."""

from __future__ import annotations

from dataclasses import replace

from lane.models.architecture import Architecture
from lane.models.dense import EMBEDDING, HEAD
from lane.models.hparams import Hparams
from lane.models.mixture import EXPERTS, SHARED_EXPERTS, SHARED_SCORE, Widths, read_experts
from lane.models.qwen35 import LAYERS, Qwen35Config, build, read_layers
from lane.models.shape import read_shape


def read(hparams: Hparams) -> Qwen35Config:
    """Reads the keys."""
    c = read_layers(hparams, read_shape(hparams, fewest_ff=0))
    return replace(c, experts=read_experts(hparams, c.shape, Widths(shared_ff=0), renormalise=True))


QWEN35MOE = Architecture("qwen35moe", read, EMBEDDING + LAYERS + EXPERTS + SHARED_EXPERTS + SHARED_SCORE + HEAD, build)
