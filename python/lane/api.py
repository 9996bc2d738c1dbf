"""The Python interface: `lane.load(path)` gives a `Model`.

Enters: a checkpoint's path and what to compile for. Leaves: logits, generated pieces, the plan. One model holds one
sequence's state and runs one thing at a time: calls from other threads wait. Two models in a process are independent.
Arguments of another type or out of range are a UsageError at the call.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from lane.arguments import choice, refuse, whole
from lane.checkpoint.gguf import Checkpoint
from lane.checkpoint.tokenizer import Tokenizer
from lane.devices.chunks import cut
from lane.devices.cpu import CpuDevice
from lane.errors import CapacityError, CheckpointError, UsageError
from lane.launch.record import F32, Numerics
from lane.pipeline import Lane, open_model
from lane.sampling import Sampler, Sampling, log_probability
from lane.schedule.schedule import Schedule
from lane.stopping import StopStrings

if TYPE_CHECKING:
    from lane.checkpoint.chat import ChatTemplate  # imported when a conversation needs it

DEVICES = ("cpu",)
MAX_THREADS = 1024

Progress = Callable[[int, int], None]  # tokens done, of how many


@dataclass(frozen=True, slots=True)
class Piece:
    """One generated token: its id, the text that it completes, and the logarithm of its probability at temperature 1.

    Text is held back while it may be part of a character or a stop string; the last piece has all that is left, and
    says why it is the last: "stop" where the model or a stop string ended the text, "length" where that was cut off.
    """

    id: int
    text: str
    logprob: float
    finish: str | None = None


@dataclass(slots=True)
class Timings:
    """Seconds and tokens of the last generation. Prefill ends when the first token is known."""

    prefill_tokens: int = 0
    prefill_seconds: float = 0.0
    decode_tokens: int = 0
    decode_seconds: float = 0.0

    def add(self, step: int, seconds: float) -> None:
        """Counts the token that a step gave: that of step 0 ends the prefill."""
        if step == 0:
            self.prefill_seconds = seconds
        else:
            self.decode_tokens += 1
            self.decode_seconds += seconds


@dataclass
class Model:
    """A loaded model on a device."""

    checkpoint: Checkpoint
    lane: Lane
    device: CpuDevice
    load_seconds: float
    timings: Timings = field(default_factory=Timings)
    _held: list[int] = field(default_factory=list, repr=False)  # the sequence whose state the device holds
    _settled: bool = field(default=True, repr=False)  # and whether every step of it ended
    _running: threading.RLock = field(default_factory=threading.RLock, repr=False, compare=False)  # held by what runs

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The checkpoint's own tokenizer."""
        return Tokenizer.from_metadata(self.checkpoint.metadata)

    @cached_property
    def template(self) -> ChatTemplate:
        """The checkpoint's own chat template; a broken one raises only when it is rendered."""
        from lane.checkpoint.chat import ChatTemplate

        return ChatTemplate.from_metadata(self.checkpoint.metadata)

    @property
    def name(self) -> str:
        """The checkpoint's own name, else its file's."""
        name = self.checkpoint.metadata.get("general.name")
        return name if isinstance(name, str) else self.checkpoint.path.stem

    @property
    def parameters(self) -> int:
        """How many values the checkpoint's tensors hold."""
        return sum(math.prod(tensor.shape) for tensor in self.checkpoint.tensors.values())

    @property
    def context(self) -> int:
        """Positions the model was compiled for."""
        return self.device.context

    def logits(self, tokens: Sequence[int], chunk: int | None = None) -> F32:
        """Logits at every position of a sequence, positions × vocabulary in f32.

        `chunk` bounds the rows of a prefill chunk; 1 feeds the tokens through the decode step.
        UsageError for an empty sequence or an id out of range, CapacityError for one longer than the context.
        """
        ids = self._checked(tokens, 0)
        largest = None if chunk is None else whole("logits: chunk", chunk, 1)
        with self._running:
            self._begin()
            return self.device.all_logits(ids, largest)

    def generate(
        self,
        prompt: str | Sequence[int],
        n: int | None = None,
        *,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        seed: int | None = None,
        stop: str | Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Iterator[Piece]:
        """Generates up to `n` tokens (None: until the context is full) after a prompt of text or ids.

        Ends early with an end-of-generation token, which is the last piece and no text, or when the text contains one
        of `stop`, cut off before it. A prompt that continues the last sequence is run from there on. `progress` hears,
        chunk by chunk, how many tokens of the prompt are done, of how many to run.
        UsageError for a bad argument, CapacityError when prompt and `n` exceed the context.
        """
        if n is not None:
            n = whole("generate: n", n, 1)
        sampler = Sampler(Sampling(temperature, top_k, top_p, min_p, seed))
        stops = StopStrings(stop)
        if progress is not None and not callable(progress):
            refuse("generate: progress", progress, "a function of two numbers")
        tokens = self._checked(self.encode(prompt) if isinstance(prompt, str) else prompt, n or 1)
        return self._pieces(tokens, n or self.room(tokens), sampler, stops, progress or _unheard)

    def encode(self, text: str, *, parse_special: bool = True) -> list[int]:
        """The ids of a prompt, control tokens read where they are written unless told otherwise; CapacityError, before
        more of them are looked for, where they do not fit the context."""
        return self.tokenizer.prompt(text, parse_special=parse_special, most=self.context)

    def room(self, tokens: Sequence[int]) -> int:
        """How many tokens can be generated after a prompt: the last one of them needs no position."""
        return self.context - len(tokens) + 1

    def chat(
        self,
        messages: Sequence[Mapping[str, object]],
        n: int | None = None,
        *,
        variables: Mapping[str, object] | None = None,
        **options: object,
    ) -> Iterator[Piece]:
        """Generates the assistant's next message; `options` are those of `generate`."""
        return self.generate(self.chat_tokens(messages, variables), n, **options)  # type: ignore[arg-type]

    def chat_tokens(
        self, messages: Sequence[Mapping[str, object]], variables: Mapping[str, object] | None = None
    ) -> list[int]:
        """The prompt of a conversation: the template's text as ids. Control tokens are those that the template wrote;
        what the messages hold is text. `variables` are what the template asks for beside them."""
        most = self.tokenizer.longest_bytes * self.context
        said = self.template.render(messages, variables=variables, max_chars=most)
        return self.tokenizer.prompt(said.text, given=said.given, most=self.context)

    def plan(self, rows: int = 1) -> Schedule:
        """The schedule of the form over `rows` rows (1: the decode step)."""
        with self._running:
            return self.lane.form(whole("plan: rows", rows, 1)).schedule

    def memory(self) -> Mapping[str, int]:
        """Bytes by part: the mapped checkpoint, caches, constants, io, arena."""
        return self.device.memory().parts()

    def _pieces(
        self, tokens: list[int], n: int, sampler: Sampler, stops: StopStrings, progress: Progress
    ) -> Iterator[Piece]:
        stream, ends = self.tokenizer.stream(), self.tokenizer.stop_ids
        with self._running:
            held = self._begin(tokens)
            left = tokens[len(held) :]
            self.timings = timings = Timings(prefill_tokens=len(left))
            self.device.prepare(len(left))
            started = time.perf_counter()
            self._prefill(held, left, progress)
            token, logprob = self._next(sampler, timings, 0, started)
        for step in range(1, n + 1):
            last = token in ends or step == n
            text = stops.push("" if token in ends else stream.push(token))
            if last and not stops.hit:
                text += stops.push(stream.flush()) + stops.finish()
            finish = "stop" if token in ends or stops.hit else "length" if last else None
            yield Piece(token, text, logprob, finish)
            if last or stops.hit:
                return
            with self._running:
                started = time.perf_counter()
                self._advance(held, [token], partial(self._decode, token))
                token, logprob = self._next(sampler, timings, step, started)

    def _next(self, sampler: Sampler, timings: Timings, step: int, started: float) -> tuple[int, float]:
        """The token after those that the device holds, and the logarithm of its probability."""
        logits = self.device.logits()
        token = sampler.choose(logits)
        timings.add(step, time.perf_counter() - started)
        logprob = log_probability(logits, token)
        if math.isnan(logprob):
            at = len(self._held) - 1
            raise CheckpointError(f"generate: the logits at position {at} hold NaN, allowed numbers: bad weights")
        return token, logprob

    def _decode(self, token: int) -> None:
        self.device.set_token(token)
        self.device.decode()

    def _begin(self, tokens: Sequence[int] = ()) -> list[int]:
        """Begins a sequence and gives the tokens that the device holds of it: those before, if `tokens` continue them.

        Whatever was generating must not go on: `_held` is then another list than its own.
        """
        count = len(self._held)
        continues = self._settled and 0 < count < len(tokens) and tokens[:count] == self._held
        if not continues:
            self.device.reset()
        self._held = list(self._held) if continues else []
        return self._held

    def _prefill(self, held: list[int], tokens: list[int], progress: Progress) -> None:
        done = 0
        for rows in cut(len(tokens)):
            chunk = tokens[done : done + rows]
            self._advance(held, chunk, partial(self.device.prefill, chunk, len(held)))
            done += rows
            progress(done, len(tokens))

    def _advance(self, held: list[int], tokens: list[int], run: Callable[[], None]) -> None:
        """Runs a step over tokens of the sequence that the device holds; should it not return, that one cannot be
        continued."""
        if held is not self._held:
            raise UsageError("generate: the model has begun another sequence since, allowed one at a time")
        self._settled = False
        run()
        held += tokens
        self._settled = True

    def _checked(self, tokens: Iterable[int], n: int) -> list[int]:
        """The ids of a prompt, if `n` tokens can be generated after it."""
        if isinstance(tokens, (str, bytes)) or not isinstance(tokens, Iterable):
            refuse("prompt", tokens, "token ids")
        ids = list(tokens)
        if not ids:
            raise UsageError("prompt: 0 tokens, allowed 1 or more")
        needed = len(ids) + max(n, 1) - 1
        if needed > self.context:
            raise CapacityError(
                f"prompt: {len(ids)} tokens and {n} generated need {needed} positions, "
                f"allowed {self.context} (the context)"
            )
        most = self.device.vocab - 1
        return [whole("prompt: a token id", token, 0, most) for token in ids]


def load(
    path: str | os.PathLike[str],
    *,
    device: str = "cpu",
    numerics: str = "int8",
    ctx: int | None = None,
    threads: int | None = None,
) -> Model:
    """Loads a GGUF checkpoint for inference.

    `ctx` is the number of positions to hold (default: the model's own, at most 4096), `numerics` one of precise, int8,
    int8x2, `threads` the CPU threads to use (default: all that the process may run on). UsageError, CheckpointError,
    UnsupportedError or CapacityError say what was found and what is allowed.

    >>> model = load(path, ctx=64)
    >>> text = "".join(piece.text for piece in model.generate("Once upon a time", 8))
    >>> tokens = model.tokenizer.encode("Once upon a time")
    >>> logits = model.logits(tokens)
    >>> logits.shape == (len(tokens), model.device.vocab)
    True
    >>> [piece.id for piece in model.generate(tokens, 1)] == [int(logits[-1].argmax())]
    True
    """
    started = time.perf_counter()
    choice("load: device", device, DEVICES)
    choice("load: numerics", numerics, tuple(n.value for n in Numerics))
    if ctx is not None:
        ctx = whole("load: ctx", ctx, 1)
    if threads is not None:
        threads = whole("load: threads", threads, 1, MAX_THREADS)
    checkpoint, model = open_model(_path(path), ctx)
    lane = Lane(model, Numerics(numerics))
    cpu = CpuDevice(checkpoint, lane, threads)
    return Model(checkpoint, lane, cpu, time.perf_counter() - started)


def _path(path: object) -> Path:
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str) or not text or "\0" in text:
        refuse("load: path", path, "the path of a file, a str or an os.PathLike of one")
    return Path(text)


def _unheard(done: int, total: int) -> None:
    """Progress that nobody asked for."""
