"""What `lane run` is to generate from: the one prompt that its options name, and the variables of a template."""

from __future__ import annotations

import fcntl
import json
import os
import re
import sys
import termios
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lane.cli.text import decoded
from lane.errors import UsageError

NO_TEXT = "\0"  # what --chat without a text gives, and no argument can be


@dataclass(frozen=True, slots=True)
class Prompt:
    """What to generate from: one of a text, ids, a turn (chat with text), a conversation (chat without)."""

    text: str | None
    ids: list[int] | None
    chat: bool
    reads_stdin: bool = False

    @property
    def is_conversation(self) -> bool:
        """Whether turns are read until there are no more."""
        return self.chat and self.text is None

    def warnings(self) -> Sequence[str]:
        """What was given beside it and goes unread: a text on stdin, say."""
        if self.reads_stdin or self.is_conversation or sys.stdin.isatty() or not _holds_text():
            return ()
        return ("run: stdin holds a text that is not read, since the prompt is another",)


def prompt_of(text: str | None, file: Path | None, chat: str | None, tokens: str | None) -> Prompt:
    """The one prompt that the options name; stdin's text where they name none and it is no terminal."""
    says = chat is not None and chat != NO_TEXT
    texts = (text is not None) + (file is not None) + says
    if texts > 1 or (tokens is not None and (texts or chat is not None)):
        raise UsageError("run: more than one of -p TEXT, -f FILE, --chat TEXT and --tokens IDS, allowed one")
    if chat == "":
        raise UsageError("run: --chat '', allowed a text, or none to hold a conversation")
    if file is not None:
        return Prompt(file_text(file, "-f"), None, chat is not None)
    if chat is not None:
        return Prompt(_argument(text if chat == NO_TEXT else chat), None, True)
    if tokens is not None:
        return Prompt(None, _ids(tokens), False)
    if text is None:
        if sys.stdin.isatty():
            raise UsageError("run: no prompt, allowed -p TEXT, -f FILE, --chat, --tokens IDS, or a text on stdin")
        return Prompt(decoded(sys.stdin.buffer.read(), "the prompt"), None, False, reads_stdin=True)
    return Prompt(_argument(text), None, False)


def file_text(path: Path, option: str) -> str:
    """The text of a file that an option names."""
    try:
        return decoded(path.read_bytes(), option)
    except OSError as error:
        raise UsageError(f"run: {option}: '{path}' cannot be read: {error.strerror}") from None


def variables_of(pairs: Sequence[str]) -> Mapping[str, object]:
    """A template's variables from NAME=VALUE: JSON, or else the text itself."""
    found: dict[str, object] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"run: --chat-var '{pair}', allowed NAME=VALUE, such as enable_thinking=false")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def _holds_text() -> bool:
    """Whether there is something to read on stdin now; what a writer is still to send does not count."""
    try:
        descriptor = sys.stdin.fileno()
        waiting = array("i", [0])  # of a pipe; of a file, what lies past its position
        fcntl.ioctl(descriptor, termios.FIONREAD, waiting)
        return waiting[0] > 0
    except (OSError, ValueError):  # nothing that could tell, or closed
        return False


def _argument(text: str | None) -> str | None:
    """A text of the command line, which holds bytes that are not UTF-8 as surrogates."""
    return None if text is None else decoded(os.fsencode(text), "the prompt")


def _ids(text: str) -> list[int]:
    words = text.replace(",", " ").split()
    for word in words:
        if not re.fullmatch(r"[0-9]{1,18}", word):
            raise UsageError(f"run: --tokens holds '{word}', allowed whole numbers separated by commas or spaces")
    if not words:
        raise UsageError("run: --tokens holds 0 tokens, allowed 1 or more")
    return [int(word) for word in words]
