"""Every launch kind, in the order of their record numbers. A kind is added here and nowhere else."""

from __future__ import annotations

from lane.launch.attention import Attention, Rope, RopeParts
from lane.launch.data import Gather, Join, SetRow, Slice, View
from lane.launch.elementwise import Binary, Scale, SwiGlu, Unary
from lane.launch.fold import Fold
from lane.launch.norm import Norm
from lane.launch.projection import GemmParts, Gemv, GemvF32, GemvGlu, HeadGemv, Quant
from lane.launch.record import Launch
from lane.launch.step import ArgMax

KINDS: tuple[type[Launch], ...] = (
    Gather,
    View,
    Norm,
    Quant,
    Gemv,
    Binary,
    Scale,
    Unary,
    SwiGlu,
    Rope,
    SetRow,
    Attention,
    ArgMax,
    Slice,
    GemvF32,
    GemmParts,
    GemvGlu,
    HeadGemv,
    RopeParts,
    Join,
    Fold,
)

KIND_NUMBER: dict[type[Launch], int] = {kind: i for i, kind in enumerate(KINDS)}
