"""The step driver as Python sees it: who asks hears of each step, and may end the run."""

from __future__ import annotations

import numpy as np
import pytest

from lane import _core
from lane.devices.cpu import CpuDevice
from lane.devices.lowering import carried_ranges, lower_plan
from lane.errors import UsageError
from lane.launch.record import Numerics
from lane.plan.plan import FormKey
from tests.py.devices.runs import engine
from tests.py.support.fixtures import Fixture

LLAMA = Fixture("families", "llama")
TOKENS = LLAMA.reference.tokens[:13]


class Driver:
    """A driver of its own on a model's program, with forms over one row and eight."""

    def __init__(self) -> None:
        made = engine(LLAMA, Numerics.INT8, context=64)
        keys = (FormKey(1), FormKey(8))
        made.require(keys)
        device = made.device
        assert isinstance(device, CpuDevice)
        io = lower_plan(made.checkpoint, made.plan).io
        self._engine = made
        self.steps = _core.CpuSteps(
            device.program,
            device.program.open_state(),
            io.token,
            io.tokens,
            io.pos,
            io.logits,
            made.vocab,
            list(carried_ranges(made.plan.state)),
        )
        for key in keys:
            self.steps.add(key.rows, device.forms[key])


def test_a_hook_hears_of_every_step() -> None:
    steps = Driver().steps
    heard: list[tuple[int, int]] = []
    steps.prefill(np.array(TOKENS, np.int32), 0, 8, lambda pos, rows: heard.append((pos, rows)))
    steps.decode(2, lambda pos, rows: heard.append((pos, rows)))
    assert heard == [(0, 8), *((pos, 1) for pos in range(8, 15))]
    assert steps.position() == 15


def test_steps_apart_choose_the_tokens_of_steps_together() -> None:
    steps = Driver().steps
    chosen = []
    for hook in (None, lambda pos, rows: None):
        steps.reset()
        steps.prefill(np.array(TOKENS, np.int32), 0, 8)
        steps.decode(5, hook)
        chosen.append((steps.token(), steps.position()))
    assert chosen[0] == chosen[1]


def test_what_a_hook_raises_ends_the_run() -> None:
    steps = Driver().steps

    def stop(pos: int, rows: int) -> None:
        raise UsageError("enough")

    with pytest.raises(UsageError, match="enough"):
        steps.prefill(np.array(TOKENS, np.int32), 0, 8, stop)
    assert steps.position() == 8
