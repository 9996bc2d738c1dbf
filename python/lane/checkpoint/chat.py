"""A checkpoint's chat template: a conversation to the text that the model was trained to see.

What enters is the metadata, then conversations; what leaves is text for `Tokenizer.encode`. Reading the metadata never
fails on account of the template: it is parsed when it is first used, and whatever is wrong with it comes up then, as
an `UnsupportedError` with the line. A template is a program from an untrusted file, so it runs in a process of its own
(chat_worker.py) under limits on time, memory and length.
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
from typing import Any

import numpy as np

from lane.errors import UnsupportedError, UsageError

Message = Mapping[str, object]

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

    cpu_seconds: int = 5
    wall_seconds: float = 30.0
    memory_bytes: int = 512 << 20
    max_chars: int = 16 << 20


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

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, object], name: str | None = None) -> "ChatTemplate":
        """The checkpoint's template, or the one it calls `name` where it has several."""
        source = metadata.get("tokenizer.chat_template" + (f".{name}" if name else ""))
        return cls(source if isinstance(source, str) else None, partial(_special_tokens, metadata))

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
    ) -> str:
        """The conversation as text, ready for the model's reply if `add_generation_prompt`.

        `variables` are what a particular template asks for beside these. A template that writes BOS itself starts with
        it: encode such a text with `add_special=False`. A conversation that the template refuses, or that is not made
        of JSON's values, is a `UsageError`.
        """
        if self.source is None:
            raise UnsupportedError("chat template: tokenizer.chat_template is missing or no string")
        request = {
            **self._special_tokens(),
            "messages": messages,
            "tools": tools,
            "documents": None,
            "add_generation_prompt": add_generation_prompt,
            **(variables or {}),
        }
        try:
            line = json.dumps(request)
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"chat template: the conversation is not made of JSON's values: {error}") from None
        with self._lock:
            reply = self._ask(self.source, line)
        return _text_of(reply)

    def _ask(self, source: str, line: str) -> dict[str, Any]:
        try:
            if self._worker is None:
                self._worker = _Worker(source, self._limits)
            return self._worker.ask(line)
        except _WorkerEnded as ended:
            self._worker = None
            raise UnsupportedError(f"chat template: {ended}") from None
        except OSError as error:
            raise UnsupportedError(f"chat template: the process that renders it does not start: {error}") from None


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
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        setup = {
            "source": source,
            "cpu_seconds": limits.cpu_seconds,
            "memory_bytes": limits.memory_bytes,
            "max_chars": limits.max_chars,
        }
        self._pending = json.dumps(setup) + "\n"
        self._stop = weakref.finalize(self, _stop, self._process)

    def ask(self, line: str) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        watchdog = threading.Timer(self._limits.wall_seconds, self._process.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            stdin.write((self._pending + line + "\n").encode())
            stdin.flush()
            reply = stdout.readline()
        except BrokenPipeError:
            reply = b""
        finally:
            watchdog.cancel()
        self._pending = ""
        if not reply.endswith(b"\n"):
            raise _WorkerEnded(self._cause_of_end())
        result: dict[str, Any] = json.loads(reply)
        return result

    def _cause_of_end(self) -> str:
        self._stop()
        code = self._process.returncode
        if code == -signal.SIGXCPU:
            return f"needs more than {self._limits.cpu_seconds} s of processor time, which is what it may use"
        if code == -signal.SIGKILL:
            return f"takes more than {self._limits.wall_seconds:g} s, which is what it may take"
        return f"its process ended with code {code}"


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def _text_of(reply: Mapping[str, Any]) -> str:
    if "refusal" in reply:
        raise UsageError(f"chat template: refuses the conversation: {reply['refusal']}")
    if "failure" in reply:
        where = f", line {reply['line']}" if reply.get("line") else ""
        raise UnsupportedError(f"chat template{where}: {reply['failure']}")
    text: str = reply["text"]
    return text


def _special_tokens(metadata: Mapping[str, object]) -> dict[str, str]:
    """The texts of the tokens that templates write by name, "" where one is not to be had: the tokenizer reports it."""
    tokens = metadata.get("tokenizer.ggml.tokens")
    texts = dict.fromkeys(_ROLES, "")
    for name, key in _ROLES.items():
        identity = metadata.get(f"tokenizer.ggml.{key}")
        if isinstance(tokens, list) and isinstance(identity, (int, np.integer)) and 0 <= identity < len(tokens):
            texts[name] = str(tokens[identity])
    return texts
