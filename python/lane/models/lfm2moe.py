"""lfm2moe: lfm2 with experts by a sigmoid, renormalised, after leading dense layers."""

from __future__ import annotations

from dataclasses import replace

from lane.launch.meaning.mixture import RouterScore
from lane.models.architecture import Architecture
from lane.models.dense import EMBEDDING
from lane.models.hparams import Hparams
from lane.models.lfm2 import LAYERS, Lfm2Config, build
from lane.models.lfm2 import read as read_lfm2
from lane.models.mixture import CHOICE_BIAS, EXPERTS, read_routed_experts


def read(hparams: Hparams) -> Lfm2Config:
    """Reads the keys."""
    c = read_lfm2(hparams)
    return replace(c, experts=read_routed_experts(hparams, c.shape, RouterScore.SIGMOID, renormalise=True))


LFM2MOE = Architecture("lfm2moe", read, EMBEDDING + LAYERS + EXPERTS + CHOICE_BIAS, build)
