"""granitemoe: granite with experts by a softmax, renormalised, and shared ones where the file has them."""

from __future__ import annotations

from dataclasses import replace

from lane.models.architecture import Architecture
from lane.models.dense import ATTENTION, ATTENTION_BIAS, EMBEDDING, FREQ_FACTORS, HEAD, PRE_NORMS
from lane.models.granite import GraniteConfig, build
from lane.models.granite import read as read_granite
from lane.models.hparams import Hparams
from lane.models.mixture import EXPERTS, SHARED_EXPERTS, Widths, read_experts


def read(hparams: Hparams) -> GraniteConfig:
    """Reads the keys; an expert is as wide as the feed-forward length."""
    c = read_granite(hparams)
    return replace(c, experts=read_experts(hparams, c.shape, Widths(c.shape.ff[0], 0), renormalise=True))


GRANITEMOE = Architecture(
    "granitemoe",
    read,
    EMBEDDING + PRE_NORMS + ATTENTION + ATTENTION_BIAS + EXPERTS + SHARED_EXPERTS + HEAD + FREQ_FACTORS,
    build,
)
