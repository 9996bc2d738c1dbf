"""What `run` and `fit` hold a request against: the same limit of memory, a container's included, in the same words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lane.errors import CapacityError
from lane.limits import MemoryLimit, context_warning, memory_limit, require_memory
from lane.report.fit import fit
from tests.py.support.fixtures import BY_NAME

LLAMA = BY_NAME["llama"].path
MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

V2 = "sys/fs/cgroup"

# The system's files, and the limit they come to (None: the machine's memory).
GROUPS: list[tuple[dict[str, str], int | None]] = [
    ({}, None),
    ({"proc/self/cgroup": "0::/\n"}, None),
    ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, None),
    ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000000\n"}, 1000000),
    (
        {"proc/self/cgroup": "0::/a/b\n", f"{V2}/a/memory.max": "7000", f"{V2}/a/b/memory.max": "max"},
        7000,
    ),
    (
        {"proc/self/cgroup": "0::/a/b\n", f"{V2}/a/memory.max": "7000", f"{V2}/a/b/memory.max": "6000"},
        6000,
    ),
    ({"proc/self/cgroup": "0::/of/the/host\n", "sys/fs/cgroup/memory.max": "5000"}, 5000),
    ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": str(2 * MACHINE)}, None),
    (
        {
            "proc/self/cgroup": "12:cpu,cpuacct:/x\n9:memory:/docker/1:2\n0::/\n",
            "sys/fs/cgroup/memory/docker/1:2/memory.limit_in_bytes": "3000\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
        3000,
    ),
    ({"proc/self/cgroup": "9:memory:/gone\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "4000"}, 4000),
]


@pytest.mark.parametrize(("files", "wanted"), GROUPS)
def test_groups(files: dict[str, str], wanted: int | None, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    owner = "the machine's memory" if wanted is None else "the container's limit"
    assert memory_limit(tmp_path) == (wanted or MACHINE, owner)


def test_a_request_is_held_against_it() -> None:
    require_memory("this", memory_limit().bytes)
    with pytest.raises(CapacityError, match=r"this take \d+ bytes, allowed \d+ \(the "):
        require_memory("this", memory_limit().bytes + 1)


def test_fit_refuses_what_a_run_would(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = fit(LLAMA, context=64).choices[0].device_bytes
    monkeypatch.setattr("lane.limits.memory_limit", lambda: MemoryLimit(needed - 1, "a test's"))
    monkeypatch.setattr("lane.report.fit.memory_limit", lambda: MemoryLimit(needed - 1, "a test's"))
    report = fit(LLAMA, context=64)
    assert report.refusal == f"cpu: 64 positions take {needed} bytes, allowed {needed - 1} (a test's)"
    assert report.longest_context is not None and report.longest_context < 64


def test_a_context_beyond_the_model_s_own_is_said() -> None:
    own = fit(LLAMA, context=8).most_context
    assert fit(LLAMA, context=own).warning is None
    longer = fit(LLAMA, context=own + 1)
    assert longer.fits and longer.warning == context_warning(own + 1, own)
    assert context_warning(own + 1, own) == (
        f"context: {own + 1} positions, of which the model was made for {own}: text beyond those may make no sense"
    )
