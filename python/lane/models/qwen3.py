"""qwen3: qwen2's blocks with queries and keys normed per head before RoPE."""

from __future__ import annotations

from lane.models.architecture import Architecture
from lane.models.dense import (
    ATTENTION,
    ATTENTION_BIAS,
    EMBEDDING,
    GATED_FFN,
    HEAD,
    HEAD_NORMS,
    PRE_NORMS,
    read_dense,
)
from lane.models.qwen2 import build

QWEN3 = Architecture(
    "qwen3",
    read_dense,
    EMBEDDING + PRE_NORMS + ATTENTION + ATTENTION_BIAS + HEAD_NORMS + GATED_FFN + HEAD,
    build,
)
