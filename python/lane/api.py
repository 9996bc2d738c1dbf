"""The Python interface: `lane.load(path)` gives a `Model`.

Enters: a checkpoint's path and what to compile for. Leaves: logits, generated pieces, the plan. Any thread may call a
model; what is generated at once runs on sessions of its own, step by step in turns. Two models in a process are
independent. Arguments of another type or out of range are a UsageError at the call.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lane.arguments import choice, refuse, whole
from lane.checkpoint.gguf import Checkpoint
from lane.checkpoint.tokenizer import Tokenizer
from lane.devices.registry import DEVICES, DeviceOptions
from lane.engine import Engine
from lane.errors import CapacityError, CheckpointError, UsageError
from lane.launch.record import F32, Numerics
from lane.pipeline import Options, open_model
from lane.plan.plan import DECODE, FormKey
from lane.sampling import Sampler, Sampling, log_probability
from lane.schedule.schedule import Schedule
from lane.session import Progress, Session
from lane.stopping import StopStrings

if TYPE_CHECKING:
    from lane.checkpoint.chat import ChatTemplate  # imported when a conversation needs it

MAX_THREADS = 1024
IDLE_SESSIONS = 1  # kept for what may begin like the sequence before


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


@dataclass(frozen=True, slots=True)
class _Generation:
    """What was asked for, checked."""

    tokens: list[int]
    n: int
    sampler: Sampler
    stops: StopStrings
    progress: Progress | None


@dataclass
class Model:
    """A loaded model on a device."""

    checkpoint: Checkpoint
    engine: Engine
    load_seconds: float
    timings: Timings = field(default_factory=Timings)
    _idle: list[Session] = field(default_factory=list, repr=False)  # those that no generation is using
    _lending: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

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
        return self.engine.context

    @property
    def vocab(self) -> int:
        """Width of a row of logits."""
        return self.engine.vocab

    def session(self) -> Session:
        """A new session, for one to keep: what is generated on it leaves the others as they are."""
        return Session(self.engine)

    def logits(self, tokens: Sequence[int], chunk: int | None = None) -> F32:
        """Logits at every position of a sequence, positions × vocabulary in f32.

        `chunk` bounds the rows of a prefill chunk; 1 feeds the tokens through the decode step.
        UsageError for an empty sequence or an id out of range, CapacityError for one longer than the context.
        """
        ids = self._checked(tokens, 0)
        largest = None if chunk is None else whole("logits: chunk", chunk, 1)
        with self._borrowed(()) as session:
            return session.all_logits(ids, largest)

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
        session: Session | None = None,
    ) -> Iterator[Piece]:
        """Generates up to `n` tokens (None: until the context is full) after a prompt of text or ids.

        Ends early with an end-of-generation token, which is the last piece and no text, or when the text contains one
        of `stop`, cut off before it. It runs on a session of its own while it lasts, or on the one given; a prompt that
        begins as a sequence that the session holds is run from where it differs. `progress` hears, chunk by chunk, how
        many tokens of the prompt are done, of how many to run.
        UsageError for a bad argument, CapacityError when prompt and `n` exceed the context.
        """
        if n is not None:
            n = whole("generate: n", n, 1)
        sampler = Sampler(Sampling(temperature, top_k, top_p, min_p, seed))
        stops = StopStrings(stop)
        if progress is not None and not callable(progress):
            refuse("generate: progress", progress, "a function of two numbers")
        tokens = self._checked(self.encode(prompt) if isinstance(prompt, str) else prompt, n or 1)
        plan = _Generation(tokens, n or self.room(tokens), sampler, stops, progress)
        return self._pieces(plan) if session is None else self._pieces_on(session, plan)

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
        key = FormKey(whole("plan: rows", rows, 1))
        return self.engine.require([key]).form(key).schedule

    def memory(self) -> Mapping[str, int]:
        """Bytes by part: the mapped checkpoint, caches, constants, io, arena."""
        return self.engine.device.memory().parts()

    def _pieces(self, asked: _Generation) -> Iterator[Piece]:
        with self._borrowed(asked.tokens) as session:
            yield from self._pieces_on(session, asked)

    def _pieces_on(self, session: Session, asked: _Generation) -> Iterator[Piece]:
        stream, ends, stops = self.tokenizer.stream(), self.tokenizer.stop_ids, asked.stops
        left = asked.tokens[session.begin(asked.tokens) :]
        self.timings = timings = Timings(prefill_tokens=len(left))
        self.engine.require([DECODE])
        self.engine.require_prompt(len(left))
        started = time.perf_counter()
        session.prefill(left, asked.progress)
        token, logprob = _next(session, asked.sampler, timings, 0, started)
        for step in range(1, asked.n + 1):
            last = token in ends or step == asked.n
            text = stops.push("" if token in ends else stream.push(token))
            if last and not stops.hit:
                text += stops.push(stream.flush()) + stops.finish()
            finish = "stop" if token in ends or stops.hit else "length" if last else None
            yield Piece(token, text, logprob, finish)
            if last or stops.hit:
                return
            started = time.perf_counter()
            session.step(token)
            token, logprob = _next(session, asked.sampler, timings, step, started)

    @contextmanager
    def _borrowed(self, tokens: Sequence[int]) -> Iterator[Session]:
        """An idle session, that which holds most of these tokens; a new one where all are in use."""
        with self._lending:
            best = max(self._idle, key=lambda session: session.shared(tokens), default=None)
            if best is not None:
                self._idle.remove(best)
        session = best or self.session()
        try:
            yield session
        finally:
            with self._lending:
                kept = len(self._idle) < IDLE_SESSIONS
                if kept:
                    self._idle.append(session)
            if not kept:
                session.close()

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
        most = self.vocab - 1
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
    >>> logits.shape == (len(tokens), model.vocab)
    True
    >>> [piece.id for piece in model.generate(tokens, 1)] == [int(logits[-1].argmax())]
    True
    """
    started = time.perf_counter()
    choice("load: device", device, tuple(DEVICES))
    choice("load: numerics", numerics, tuple(n.value for n in Numerics))
    if ctx is not None:
        ctx = whole("load: ctx", ctx, 1)
    if threads is not None:
        threads = whole("load: threads", threads, 1, MAX_THREADS)
    checkpoint, model = open_model(_path(path), ctx)
    engine = Engine(checkpoint, model, Options(Numerics(numerics)), device, DeviceOptions(threads))
    return Model(checkpoint, engine, time.perf_counter() - started)


def _path(path: object) -> Path:
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str) or not text or "\0" in text:
        refuse("load: path", path, "the path of a file, a str or an os.PathLike of one")
    return Path(text)


def _next(session: Session, sampler: Sampler, timings: Timings, step: int, started: float) -> tuple[int, float]:
    """The token after those that the session holds, and the logarithm of its probability."""
    logits = session.logits()
    token = sampler.choose(logits)
    timings.add(step, time.perf_counter() - started)
    logprob = log_probability(logits, token)
    if math.isnan(logprob):
        at = len(session.held) - 1
        raise CheckpointError(f"generate: the logits at position {at} hold NaN, allowed numbers: bad weights")
    return token, logprob
