"""What a request is held against, whoever asks: the memory there is, and the context that a model was made for.

Enters: sizes. Leaves: a CapacityError, a warning, or nothing. `run` refuses what `fit` says does not fit, in the same
words. A container's limit counts as the machine's memory does: beyond it the system ends the process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lane.errors import CapacityError


class MemoryLimit(NamedTuple):
    """The bytes that this process may use at most, and whose limit that is."""

    bytes: int
    owner: str


def memory_limit(root: Path = Path("/")) -> MemoryLimit:
    """The machine's memory, or less where a control group (version 1 or 2) that this process is in says so."""
    machine = MemoryLimit(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), "the machine's memory")
    groups = (MemoryLimit(most, "the container's limit") for most in _group_limits(root))
    return min((machine, *groups), key=lambda limit: limit.bytes)


def memory_refusal(what: str, wanted_bytes: int) -> str | None:
    """Why so many bytes are not to be had; None where they may be."""
    most, owner = memory_limit()
    return None if wanted_bytes <= most else f"{what} take {wanted_bytes} bytes, allowed {most} ({owner})"


def require_memory(what: str, wanted_bytes: int) -> None:
    """CapacityError for more bytes than there are."""
    if refusal := memory_refusal(what, wanted_bytes):
        raise CapacityError(refusal)


def context_warning(context: int, own: int) -> str | None:
    """What is to be said of a context longer than the model's own."""
    if context <= own:
        return None
    return f"context: {context} positions, of which the model was made for {own}: text beyond those may make no sense"


def _group_limits(root: Path) -> Iterator[int]:
    """Of each group from this process's up to the mount's root: a limit of its parent is one of its own."""
    for line in _lines(root / "proc/self/cgroup"):
        _, kinds, path = line.split(":", 2)
        if kinds == "":
            mount, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in kinds.split(","):
            mount, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        group = mount / path.strip("/")
        # Within a container the path may be the host's, of which only the mount's root is there.
        for folder in (group, *group.parents):
            yield from (int(found) for found in _lines(folder / name) if found.isdecimal())
            if folder == mount:
                break


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
