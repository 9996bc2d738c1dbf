"""Every architecture. One is added by its file, its import and its line here."""

from __future__ import annotations

from typing import Any

from lane.models.architecture import Architecture
from lane.models.deepseek2 import DEEPSEEK2
from lane.models.gemma import GEMMA
from lane.models.gemma2 import GEMMA2
from lane.models.gemma3 import GEMMA3
from lane.models.glm4moe import GLM4MOE
from lane.models.gpt_oss import GPT_OSS
from lane.models.granite import GRANITE
from lane.models.granitemoe import GRANITEMOE
from lane.models.lfm2 import LFM2
from lane.models.lfm2moe import LFM2MOE
from lane.models.llama import LLAMA
from lane.models.minicpm import MINICPM
from lane.models.minicpm3 import MINICPM3
from lane.models.olmo2 import OLMO2
from lane.models.olmoe import OLMOE
from lane.models.phi3 import PHI3
from lane.models.qwen2 import QWEN2
from lane.models.qwen2moe import QWEN2MOE
from lane.models.qwen3 import QWEN3
from lane.models.qwen3moe import QWEN3MOE
from lane.models.qwen3next import QWEN3NEXT
from lane.models.qwen35 import QWEN35
from lane.models.qwen35moe import QWEN35MOE
from lane.models.smollm3 import SMOLLM3
from lane.models.starcoder2 import STARCODER2

ARCHITECTURES: tuple[Architecture[Any], ...] = (
    LLAMA,
    QWEN2,
    QWEN3,
    GEMMA,
    GEMMA2,
    GEMMA3,
    SMOLLM3,
    GRANITE,
    MINICPM,
    OLMO2,
    PHI3,
    STARCODER2,
    QWEN2MOE,
    QWEN3MOE,
    OLMOE,
    GRANITEMOE,
    GPT_OSS,
    GLM4MOE,
    QWEN3NEXT,
    QWEN35,
    QWEN35MOE,
    LFM2,
    LFM2MOE,
    DEEPSEEK2,
    MINICPM3,
)
