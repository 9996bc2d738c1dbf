"""A session: one sequence on an engine. Its state is its own, so sessions live beside one another.

Enters: tokens. Leaves: logits. A session knows which tokens its state holds: a sequence that begins alike is run from
where it differs, and gives the bits that a fresh run gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile

import numpy as np

from lane.devices.chunks import cut
from lane.devices.device import DeviceSequence
from lane.engine import Engine
from lane.graph.graph import Head
from lane.launch.record import F32
from lane.models.step import MAX_CHUNK_ROWS

Progress = Callable[[int, int], None]  # tokens done, of how many


class Session:
    """One sequence. One thread at a time."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.device: DeviceSequence = engine.open()
        self._held: list[int] = []
        self._settled = True  # whether every step over what is held ended

    @property
    def held(self) -> Sequence[int]:
        """The tokens that the state holds."""
        return self._held if self._settled else ()

    def shared(self, tokens: Sequence[int]) -> int:
        """How many of the tokens of a sequence its state already holds; never all, since the last one's logits are
        wanted."""
        if not self._settled:
            return 0
        pairs = zip(self._held, tokens[:-1], strict=False)
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        return common if common == len(self._held) or self.engine.plan.can_rewind else 0

    def begin(self, tokens: Sequence[int] = ()) -> int:
        """Begins a sequence; gives how many of its tokens need not be run."""
        common = self.shared(tokens)
        if common == 0:
            self.device.reset()
            self._settled = True
        del self._held[common:]
        return common

    def prefill(self, tokens: Sequence[int], progress: Progress | None = None) -> None:
        """Runs the tokens that follow those held; `progress` hears, chunk by chunk, how many are done."""
        self.engine.require_prompt(len(tokens))
        done = 0
        for rows in cut(len(tokens)):
            chunk = list(tokens[done : done + rows])
            with self._running(chunk):
                self.device.prefill(chunk, len(self._held), MAX_CHUNK_ROWS)
            done += rows
            if progress is not None:
                progress(done, len(tokens))

    def step(self, token: int) -> None:
        """Runs the decode step on the token that follows those held."""
        with self._running([token]):
            self.device.set_token(token)
            self.device.decode(1)

    def logits(self) -> F32:
        """Logits after the last token."""
        return self.device.logits()

    def all_logits(self, tokens: Sequence[int], largest: int | None = None) -> F32:
        """Logits at every position (positions × vocabulary) of a sequence run from position 0."""
        most = MAX_CHUNK_ROWS if largest is None else largest
        self.engine.require_prompt(len(tokens), most, Head.ALL)
        self.device.reset()
        self._held = []
        out = np.empty((len(tokens), self.engine.vocab), np.float32)
        with self._running(tokens):
            self.device.prefill_all(tokens, 0, most, out)
        return out

    def close(self) -> None:
        """Gives the state's memory back."""
        self.device.close()

    @contextmanager
    def _running(self, tokens: Sequence[int]) -> Iterator[None]:
        """While a step over these tokens runs; should it not return, what the state holds is not known."""
        self._settled = False
        yield
        self._held += tokens
        self._settled = True
