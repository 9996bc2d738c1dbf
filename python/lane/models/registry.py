"""Every architecture. One is added by its file, its import and its line here."""

from __future__ import annotations

from lane.models.architecture import Architecture
from lane.models.gemma3 import GEMMA3
from lane.models.llama import LLAMA

ARCHITECTURES: tuple[Architecture, ...] = (LLAMA, GEMMA3)
