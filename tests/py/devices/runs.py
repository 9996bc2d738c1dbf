"""Ways to feed a sequence to the CPU device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lane.devices.cpu import CpuDevice
from lane.launch.record import Numerics
from lane.pipeline import Lane
from tests.py.support.fixtures import F64, Fixture


def device(
    fixture: Fixture, numerics: Numerics, *, context: int | None = None, threads: int | None = None
) -> CpuDevice:
    """A device that holds a fixture's model."""
    checkpoint, model = fixture.open(context)
    return CpuDevice(checkpoint, Lane(model, numerics), threads)


def in_chunks(cpu: CpuDevice, tokens: Sequence[int], largest: int | None = None) -> F64:
    """Logits at every position from prefill in chunks of up to `largest` rows (1: the decode step)."""
    return cpu.all_logits(tokens, largest).astype(np.float64)


def across(cpu: CpuDevice, tokens: Sequence[int], prefilled: int) -> F64:
    """Logits from the last position of a prefill on: prefill, then decode one by one."""
    cpu.reset()
    cpu.prefill(tokens[:prefilled], 0)
    found = [np.array(cpu.logits())]
    for token in tokens[prefilled:]:
        cpu.set_token(token)
        cpu.decode()
        found.append(np.array(cpu.logits()))
    return np.stack(found).astype(np.float64)
