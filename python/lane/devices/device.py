"""The interface of a device: what runs the forms of a plan.

A device takes a frozen plan, and later larger ones that hold it. On it live sequences: each has a state of its own, and
they take turns. Beside running steps, every device can run some launches of a form and read or write any array in
between, so that two devices can be compared launch by launch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt

from lane.errors import LaneError
from lane.launch.quantised import Component
from lane.launch.record import F32, Launch
from lane.plan.plan import FormKey, Plan

Array = npt.NDArray[Any]


class DeviceError(LaneError):
    """A plan that the device cannot run: a fault of a stage, not of the user's."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes the device holds, by part. `checkpoint` is the mapped file, read in place; `caches` and `io` are those of
    all sequences."""

    checkpoint: int
    caches: int
    constants: int
    io: int
    arena: int
    scratch: int = 0  # of the device's threads, each for itself

    def parts(self) -> Mapping[str, int]:
        """The parts by name."""
        return {name: getattr(self, name) for name in self.__slots__}


class DeviceSequence(Protocol):
    """One sequence on a device: its carried state, its inputs, its last logits."""

    def reset(self) -> None:
        """Forgets all carried state: the next step is at position 0."""

    def prefill(self, tokens: Sequence[int], pos: int, largest: int) -> None:
        """Runs tokens from position `pos` on, by the largest forms of the plan up to `largest` rows that fit."""

    def prefill_all(self, tokens: Sequence[int], pos: int, largest: int, out: F32) -> None:
        """The same with the logits of every row, written to `out` (rows × vocabulary)."""

    def decode(self, steps: int) -> None:
        """Runs the decode step `steps` times, each on the token that the one before chose."""

    def logits(self) -> F32:
        """The last step's logits of its last row."""

    def token(self) -> int:
        """The arg-max of the last step."""

    def set_token(self, token: int) -> None:
        """Chooses the token that the next decode step takes."""

    def position(self) -> int:
        """The position of the next token."""

    def set_inputs(self, tokens: Sequence[int], pos: int) -> None:
        """Gives the next step its tokens, one a row, and the position of the first."""

    def run_launches(self, key: FormKey, first: int, end: int) -> None:
        """Runs the launches [first, end) of a form, as its schedule executes them; arrays keep their values between."""

    def read(self, key: FormKey, buffer: str, component: Component = Component.PLAIN) -> Array:
        """One array of a buffer of a form, flat, as it is now."""

    def write(self, key: FormKey, buffer: str, values: Array, component: Component = Component.PLAIN) -> None:
        """Writes one array of a buffer, whole."""

    def profile(self, rows: int, pos: int) -> list[tuple[Launch, int]]:
        """Each launch of the form over `rows` rows from position `pos` on, and its nanoseconds in one run."""

    def close(self) -> None:
        """Gives the state's memory back; the sequence is not used again."""


class Device(Protocol):
    """A plan on a device."""

    name: str
    threads: int  # of the CPU, that run steps

    def adopt(self, plan: Plan) -> None:
        """Makes the plan's forms ready to run. Of a plan adopted before, all must be in it."""

    def open(self) -> DeviceSequence:
        """A new sequence, its state empty."""

    def memory(self) -> Memory:
        """Bytes held, by part."""
