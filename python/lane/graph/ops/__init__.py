"""Every op kind. A kind is declared in its file and listed here."""

from __future__ import annotations

from lane.graph.ops.attention import Attention, Rotate
from lane.graph.ops.base import GraphError, Op
from lane.graph.ops.data import Gather, Join, ReadRow, Slice, WriteRows
from lane.graph.ops.elementwise import Binary, ClampedSwiGlu, Scale, SwiGlu, Unary
from lane.graph.ops.mixture import Moe
from lane.graph.ops.norm import L2Norm, LayerNorm, RmsNorm
from lane.graph.ops.projection import HeadMatMul, MatMul, MatMulValues
from lane.graph.ops.recurrent import Conv, Decay, Delta
from lane.graph.ops.step import ArgMax

OPS: tuple[type[Op], ...] = (
    Gather,
    ReadRow,
    WriteRows,
    Slice,
    Join,
    MatMul,
    MatMulValues,
    HeadMatMul,
    RmsNorm,
    LayerNorm,
    L2Norm,
    Binary,
    Scale,
    Unary,
    SwiGlu,
    ClampedSwiGlu,
    Rotate,
    Attention,
    Conv,
    Decay,
    Delta,
    Moe,
    ArgMax,
)

__all__ = [
    "OPS",
    "ArgMax",
    "Attention",
    "Binary",
    "ClampedSwiGlu",
    "Conv",
    "Decay",
    "Delta",
    "Gather",
    "GraphError",
    "HeadMatMul",
    "Join",
    "L2Norm",
    "LayerNorm",
    "MatMul",
    "MatMulValues",
    "Moe",
    "Op",
    "ReadRow",
    "RmsNorm",
    "Rotate",
    "Scale",
    "Slice",
    "SwiGlu",
    "Unary",
    "WriteRows",
]
