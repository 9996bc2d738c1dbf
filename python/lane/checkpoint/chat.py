"""A checkpoint's chat template: a conversation to the text that the model was trained to see.

What enters is the metadata, then conversations; what leaves is text for `Tokenizer.encode`. Reading the metadata never
fails on account of the template: it is parsed when it is first used, and whatever is wrong with it comes up then, as
an `UnsupportedError` with the line. A template is a program from an untrusted file, so it runs in a process of its own
(chat_worker.py) under limits on time, memory and length. A child that this process forks starts its own.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lane.arguments import refuse
from lane.errors import CapacityError, UnsupportedError, UsageError

Message = Mapping[str, object]

_READ_BYTES = 1 << 16  # what a pipe holds
_ROLES = {
    "bos_token": "bos_token_id",
    "eos_token": "eos_token_id",
    "unk_token": "unknown_token_id",
    "pad_token": "padding_token_id",
}


@dataclass(frozen=True)
class ChatLimits:
    """What one rendering may use. Real templates take milliseconds, and a few megabytes above the interpreter's own
    hundred or so of address space."""

    cpu_seconds: float = 1.0
    wall_seconds: float = 30.0
    memory_bytes: int = 512 << 20
    max_chars: int = 16 << 20


class ChatText(NamedTuple):
    """A conversation as text. `given` are the half-open spans of what came with it: all else the template wrote."""

    text: str
    given: tuple[tuple[int, int], ...]


class ChatTemplate:
    """`source` is the template's text, None where the checkpoint has none. Safe to use from several threads.

    `special_tokens` gives what `bos_token` and the like mean in the template; it is asked at the first rendering.
    """

    def __init__(
        self,
        source: str | None,
        special_tokens: Callable[[], Mapping[str, str]] = dict,
        limits: ChatLimits | None = None,
    ) -> None:
        self.source = source
        self._special_tokens = cache(special_tokens)
        self._limits = limits or ChatLimits()
        self._worker: _Worker | None = None
        self._lock = threading.Lock()
        _templates.add(self)

    @classmethod
    def from_metadata(
        cls, metadata: Mapping[str, object], name: str | None = None, source: str | None = None
    ) -> "ChatTemplate":
        """The checkpoint's template, or the one it calls `name` where it has several; or `source` in their place."""
        found = metadata.get("tokenizer.chat_template" + (f".{name}" if name else "")) if source is None else source
        return cls(found if isinstance(found, str) else None, partial(_special_tokens, metadata))

    def start(self) -> None:
        """Starts the process that renders, ahead of the first use, and does not wait for it."""
        with self._lock:
            if self._worker is None and self.source is not None:
                self._worker = _Worker(self.source, self._limits)

    def render(
        self,
        messages: Sequence[Message],
        *,
        add_generation_prompt: bool = True,
        tools: Sequence[object] | None = None,
        variables: Mapping[str, object] | None = None,
        max_chars: int | None = None,
    ) -> ChatText:
        """The conversation as text, ready for the model's reply if `add_generation_prompt`.

        `variables` are what a particular template asks for beside these. Control tokens are read where the template
        wrote them and nowhere else: `Tokenizer.prompt` takes the text with its `given`. A conversation that the
        template refuses, or that is none, is a `UsageError`; a text of more than `max_chars` characters, or than the
        limits allow, a `CapacityError`.
        """
        _check(messages)
        given = {"tools": tools, "documents": None, **(variables or {}), "messages": messages}
        own = {**self._special_tokens(), "add_generation_prompt": add_generation_prompt}
        own = {name: value for name, value in own.items() if name not in given}
        most = self._limits.max_chars if max_chars is None else min(max_chars, self._limits.max_chars)
        try:
            line = json.dumps({"own": own, "given": given, "max_chars": most})
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"chat template: the conversation is not made of JSON's values: {error}") from None
        return _text_of(self._reply(line), most)

    def check(self) -> None:
        """Parses the template and renders nothing: an `UnsupportedError` says what is wrong with it."""
        _text_of(self._reply("null"), 0)

    def _reply(self, line: str) -> dict[str, Any]:
        if self.source is None:
            raise UnsupportedError("chat template: tokenizer.chat_template is missing or no string")
        with self._lock:
            return self._ask(self.source, line)

    def _ask(self, source: str, line: str) -> dict[str, Any]:
        try:
            worker = self._worker or _Worker(source, self._limits)
            self._worker = None  # until the whole reply is read: whatever cuts that short would leave it to the next
            reply = worker.ask(line)
        except _WorkerEnded as ended:
            raise UnsupportedError(f"chat template: {ended}") from None
        except OSError as error:
            raise UnsupportedError(f"chat template: the process that renders it does not start: {error}") from None
        self._worker = worker
        return reply

    def leave_worker(self) -> None:
        """In a child just forked: the process that renders is the parent's, and so is whoever held the lock."""
        self._lock = threading.Lock()
        if self._worker is not None:
            self._worker.leave()
            self._worker = None


_templates: weakref.WeakSet[ChatTemplate] = weakref.WeakSet()


def _leave_workers() -> None:
    for template in _templates:
        template.leave_worker()


os.register_at_fork(after_in_child=_leave_workers)


class _WorkerEnded(Exception):
    """The process is gone; the message says why."""


class _Worker:
    """A process that renders one template. It ends with the object, and with this process."""

    def __init__(self, source: str, limits: ChatLimits) -> None:
        self._limits = limits
        # The worker imports what this process could import, and nothing from the folder that it lies in.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-S", str(Path(__file__).with_name("chat_worker.py"))],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # Ctrl-C is for this process to answer
        )
        setup = {
            "source": source,
            "cpu_seconds": limits.cpu_seconds,
            "memory_bytes": limits.memory_bytes,
        }
        self._pending = json.dumps(setup) + "\n"
        self._stop = weakref.finalize(self, _stop, self._process)

    def ask(self, line: str) -> dict[str, Any]:
        """The reply to one request. Should it not return, the process must not be asked again."""
        watchdog = threading.Timer(self._limits.wall_seconds, self._process.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            reply = self._exchange((self._pending + line + "\n").encode())
        except BrokenPipeError:
            reply = b""
        finally:
            watchdog.cancel()
        self._pending = ""
        if not reply.endswith(b"\n"):
            raise _WorkerEnded(self._cause_of_end())
        result: dict[str, Any] = json.loads(reply)
        return result

    def leave(self) -> None:
        """Lets go of a process that is another's to end: only this one's ends of the pipes are closed."""
        self._stop.detach()
        self._process.returncode = 0  # Popen then asks the system no more about it

    def _exchange(self, request: bytes) -> bytes:
        """Nothing is buffered between calls, so that a fork at any time finds nothing that it could write twice."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        left = memoryview(request)
        while left:
            left = left[os.write(stdin.fileno(), left) :]
        reply = [os.read(stdout.fileno(), _READ_BYTES)]
        while reply[-1] and not reply[-1].endswith(b"\n"):
            reply.append(os.read(stdout.fileno(), _READ_BYTES))
        return b"".join(reply)

    def _cause_of_end(self) -> str:
        self._stop()
        code = self._process.returncode
        if code == -signal.SIGPROF:
            return f"needs more than {self._limits.cpu_seconds:g} s of processor time, which is what it may use"
        if code == -signal.SIGKILL:
            return f"takes more than {self._limits.wall_seconds:g} s, which is what it may take"
        return f"its process ended with code {code}"


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def _check(messages: object) -> None:
    """Refuses what is no conversation, whatever a template would make of it."""
    if isinstance(messages, (str, bytes)) or not isinstance(messages, Sequence) or not messages:
        refuse("chat: the conversation", messages, "a list of one or more messages")
    for index, message in enumerate(messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            refuse(f"chat: message {index}", message, "a mapping with a 'role' that is a string")
        if "content" not in message and not message.get("tool_calls"):
            refuse(f"chat: message {index}", message, "a mapping with a 'content', or with 'tool_calls' in its place")
        if not isinstance(message.get("content"), (str, list, tuple, type(None))):
            refuse(f"chat: message {index}: its content", message["content"], "a string, a list of parts, or none")


def _text_of(reply: Mapping[str, Any], most: int) -> ChatText:
    if "refusal" in reply:
        raise UsageError(f"chat template: refuses the conversation: {reply['refusal']}")
    if "failure" in reply:
        where = f", line {reply['line']}" if reply.get("line") else ""
        raise UnsupportedError(f"chat template{where}: {reply['failure']}")
    if "too_long" in reply:
        raise CapacityError(f"chat template: gives {reply['too_long']} characters, allowed are {most}")
    return ChatText(reply["text"], tuple((start, end) for start, end in reply["given"]))


def _special_tokens(metadata: Mapping[str, object]) -> dict[str, str]:
    """The texts of the tokens that templates write by name, "" where one is not to be had: the tokenizer reports it."""
    tokens = metadata.get("tokenizer.ggml.tokens")
    texts = dict.fromkeys(_ROLES, "")
    for name, key in _ROLES.items():
        identity = metadata.get(f"tokenizer.ggml.{key}")
        if isinstance(tokens, list) and isinstance(identity, (int, np.integer)) and 0 <= identity < len(tokens):
            texts[name] = str(tokens[identity])
    return texts
