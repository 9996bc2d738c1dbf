"""Ways to feed a sequence to a device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lane.devices.registry import DEFAULT, DeviceOptions
from lane.engine import Engine
from lane.launch.record import Numerics
from lane.pipeline import Options
from lane.session import Session
from tests.py.support.fixtures import F64, Fixture


def engine(
    fixture: Fixture,
    numerics: Numerics,
    *,
    context: int | None = None,
    threads: int | None = None,
    device: str = DEFAULT,
) -> Engine:
    """A fixture's model on a device."""
    checkpoint, model = fixture.open(context)
    return Engine(checkpoint, model, Options(numerics), device, DeviceOptions(threads))


def session(
    fixture: Fixture,
    numerics: Numerics,
    *,
    context: int | None = None,
    threads: int | None = None,
    device: str = DEFAULT,
) -> Session:
    """A sequence on a fixture's model."""
    return Session(engine(fixture, numerics, context=context, threads=threads, device=device))


def in_chunks(run: Session, tokens: Sequence[int], largest: int | None = None) -> F64:
    """Logits at every position from prefill in chunks of up to `largest` rows (1: the decode step)."""
    return run.all_logits(tokens, largest).astype(np.float64)


def across(run: Session, tokens: Sequence[int], prefilled: int) -> F64:
    """Logits from the last position of a prefill on: prefill, then decode one by one."""
    run.device.reset()
    run.begin()
    run.prefill(tokens[:prefilled])
    found = [np.array(run.logits())]
    for token in tokens[prefilled:]:
        run.step(token)
        found.append(np.array(run.logits()))
    return np.stack(found).astype(np.float64)
