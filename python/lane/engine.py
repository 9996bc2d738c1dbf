"""An engine: a model's plan on a device. Weights and constants are there once, for all sequences that run on it.

Enters: a checkpoint and what to compile for. Leaves: sessions. The plan begins with the decode form and grows by the
forms that prompts need, when they first need them: a form that nothing uses is not compiled.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace

from lane.checkpoint.gguf import Checkpoint
from lane.devices.chunks import cut
from lane.devices.device import DeviceSequence
from lane.devices.registry import DEFAULT, DEFAULT_DEVICE_OPTIONS, DEVICES, DeviceOptions
from lane.graph.graph import Head
from lane.models.recognise import Model
from lane.models.step import MAX_CHUNK_ROWS
from lane.pipeline import DEFAULT_OPTIONS, Options, compile_plan
from lane.plan.plan import FormKey, Plan


class Engine:
    """A model on a device. Any thread may call it; forms are compiled one thread at a time."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        model: Model,
        options: Options = DEFAULT_OPTIONS,
        device: str = DEFAULT,
        device_options: DeviceOptions = DEFAULT_DEVICE_OPTIONS,
    ) -> None:
        self.checkpoint = checkpoint
        self.model = model
        kind = DEVICES[device]
        self.options = replace(options, target=kind.target(device_options))
        self.plan = compile_plan(model, (), self.options)
        self.device = kind.open(checkpoint, self.plan)
        self._compiling = threading.Lock()

    @property
    def context(self) -> int:
        """Positions that a sequence may have."""
        return self.model.context

    @property
    def vocab(self) -> int:
        """Width of a row of logits."""
        return self.plan.vocab

    @property
    def threads(self) -> int:
        """CPU threads that the device runs on."""
        return self.device.threads

    def require(self, keys: Iterable[FormKey]) -> Plan:
        """The plan, with these forms in it and on the device."""
        wanted = list(keys)
        if any(key not in self.plan.forms for key in wanted):
            with self._compiling:
                plan = compile_plan(self.model, wanted, self.options, self.plan)
                self.device.adopt(plan)
                self.plan = plan
        return self.plan

    def require_prompt(self, count: int, largest: int = MAX_CHUNK_ROWS, head: Head = Head.LAST) -> Plan:
        """The plan with the forms that a prompt of so many tokens runs, cut in chunks of up to `largest` rows."""
        return self.require(FormKey(rows, head) for rows in dict.fromkeys(cut(count, largest)))

    def open(self) -> DeviceSequence:
        """A new sequence on the device."""
        return self.device.open()
