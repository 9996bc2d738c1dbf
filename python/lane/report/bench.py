"""Prefill and decode rates of a model on its device.

Enters: a session. Leaves: a `BenchRow` a test: `ppN` is the prefill of N tokens and `tgN` the decoding of N, each
from an empty context, after one run that is not counted. Only the steps are timed: no sampling, no text.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from lane.errors import CapacityError, UsageError
from lane.models.step import MAX_CHUNK_ROWS
from lane.session import Session

TOKENS_SEED = 1  # of the tokens that a prefill is measured on


@dataclass(frozen=True)
class BenchRow:
    """One test: the rate of each repetition, in tokens a second."""

    test: str
    tokens: int
    rates: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Of the rates."""
        return statistics.fmean(self.rates)

    @property
    def deviation(self) -> float:
        """Of the rates: the sample's; 0 of a single one."""
        return statistics.stdev(self.rates) if len(self.rates) > 1 else 0.0

    def as_json(self) -> dict[str, object]:
        """Plain values that JSON can hold."""
        return {**asdict(self), "mean": self.mean, "deviation": self.deviation}


def bench(
    session: Session, prompt_tokens: int, decoded_tokens: int, repetitions: int, done: Callable[[], None]
) -> list[BenchRow]:
    """Runs the tests asked for (0 tokens: not that one); `done` is called after each run.

    UsageError when nothing is asked for, CapacityError for more tokens than the context holds.
    """
    if prompt_tokens < 0 or decoded_tokens < 0 or prompt_tokens + decoded_tokens == 0:
        raise UsageError(
            f"bench: {prompt_tokens} prompt and {decoded_tokens} decoded tokens, allowed 0 or more, not both 0"
        )
    if repetitions < 1:
        raise UsageError(f"bench: {repetitions} repetitions, allowed 1 or more")
    context = session.engine.context
    if max(prompt_tokens, decoded_tokens) > context:
        raise CapacityError(f"bench: {max(prompt_tokens, decoded_tokens)} tokens, allowed {context} (the context)")
    rows = []
    if prompt_tokens:
        rates = _rates(lambda: _prefill(session, prompt_tokens), prompt_tokens, repetitions, done)
        rows.append(BenchRow(f"pp{prompt_tokens}", prompt_tokens, rates))
    if decoded_tokens:
        rates = _rates(lambda: _decode(session, decoded_tokens), decoded_tokens, repetitions, done)
        rows.append(BenchRow(f"tg{decoded_tokens}", decoded_tokens, rates))
    return rows


def _rates(run: Callable[[], float], tokens: int, repetitions: int, done: Callable[[], None]) -> tuple[float, ...]:
    rates = []
    for _ in range(repetitions + 1):  # the first compiles the forms and touches the weights
        rates.append(tokens / run())
        done()
    return tuple(rates[1:])


def _prefill(session: Session, count: int) -> float:
    tokens = np.random.default_rng(TOKENS_SEED).integers(0, session.engine.vocab, count).tolist()
    session.engine.require_prompt(count)
    session.begin()
    started = time.perf_counter()
    session.device.prefill(tokens, 0, MAX_CHUNK_ROWS)
    return time.perf_counter() - started


def _decode(session: Session, count: int) -> float:
    session.begin()
    session.device.set_token(0)
    started = time.perf_counter()
    session.device.decode(count)
    return time.perf_counter() - started
