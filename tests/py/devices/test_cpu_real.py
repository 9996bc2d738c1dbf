"""Real checkpoints generate what exact arithmetic on their dequantised weights generates.

Logits of SmolLM2 and Gemma lie within about ±20. `precise` leaves them within 1e-5 of that, 2e-4: two logits keep
their order where their gap is ten times as much, 0.002. `int8x2` is an order of magnitude wider. Under `int8` a token's
logits move by up to tenths, and after one different token all that follows is another text: so the exact tokens are
fed, and the best token must be theirs wherever the gap is at least 0.35.
"""

from __future__ import annotations

import numpy as np
import pytest

from lane.engine import Engine
from lane.launch.record import Numerics
from lane.pipeline import Options, open_model
from lane.session import Session
from tests.py.support import real

GAPS = {Numerics.PRECISE: 0.002, Numerics.INT8X2: 0.02}
INT8_GAP = 0.35


def open_session(name: str, numerics: Numerics) -> Session:
    return Session(Engine(*open_model(real.path(name), 256), Options(numerics)))


@pytest.mark.parametrize("numerics", GAPS, ids=lambda n: n.value)
@pytest.mark.parametrize("name", real.NAMES)
def test_greedy_tokens(name: str, numerics: Numerics) -> None:
    run = open_session(name, numerics)
    for case in real.greedy(name):
        run.begin()
        run.prefill(case.prompt)
        chosen = [run.device.token()]
        count = case.sure(GAPS[numerics])
        while len(chosen) < count:
            run.device.decode(1)
            chosen.append(run.device.token())
        assert chosen[:count] == case.tokens[:count], case.text


@pytest.mark.parametrize("name", real.NAMES)
def test_best_tokens_under_int8(name: str) -> None:
    run = open_session(name, Numerics.INT8)
    compared = 0
    for case in real.greedy(name):
        fed = case.prompt + case.tokens[:-1]
        best = run.all_logits(fed)[len(case.prompt) - 1 :].argmax(axis=1)
        clear = np.flatnonzero(np.array(case.gaps) >= INT8_GAP)
        np.testing.assert_array_equal(best[clear], np.array(case.tokens)[clear], case.text)
        compared += len(clear)
    assert compared == {"smol": 445, "gemma": 346}[name]
