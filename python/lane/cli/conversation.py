"""Text as it is generated: after a prompt, after a turn of the user's, or turn after turn from the lines of stdin."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import click

from lane.api import Model
from lane.cli.progress import progress
from lane.cli.text import decoded
from lane.cli.writer import Writer
from lane.errors import CapacityError, UsageError
from lane.models.recognise import LONGEST_CONTEXT

Message = dict[str, object]

PROMPT = "> "


@dataclass
class Speaker:
    """Generates by one set of options. `count` is the tokens asked for; None: at most `usual`, fewer where the context
    ends before. `cut` says what cut off the last text, where something did; `said` is that text so far."""

    model: Model
    count: int | None
    usual: int
    options: Mapping[str, Any]
    variables: Mapping[str, object] = field(default_factory=dict)
    cut: str | None = None
    said: list[str] = field(default_factory=list)

    def speak(self, ids: Sequence[int]) -> None:
        """Streams what follows some ids to stdout."""
        self.cut, self.said = None, []
        room = self.model.room(ids)
        n = self.count or max(1, min(self.usual, room))
        with holding(self.model), progress("prefill") as report, Writer() as writer:
            for piece in self.model.generate(ids, n, progress=report, **self.options):
                writer.write(piece.text)
                self.said.append(piece.text)
                if piece.finish == "length":
                    self.cut = f"cut off after {n} tokens by {'the context' if n == room else '-n'}"

    def reply(self, messages: Sequence[Message]) -> None:
        """Streams the assistant's next message."""
        with holding(self.model):
            ids = self.model.chat_tokens(messages, self.variables)
        self.speak(ids)


def converse(speaker: Speaker) -> None:
    """Answers line after line until stdin ends. An empty line is no turn.

    Where someone types, a turn that is refused (the context is full, say) is left out, since another can follow, and an
    interrupt ends the answer alone; what was said of it stays said.
    """
    messages: list[Message] = []
    types = sys.stdin.isatty()
    while (line := _read_line(types)) is not None:
        if not line.strip():
            continue
        try:
            turn: Message = {"role": "user", "content": decoded(line, "the turn")}
            speaker.said = []
            speaker.reply([*messages, turn])
        except (UsageError, CapacityError) as error:
            if not types:
                raise
            click.echo(f"lane: error: {error}; this turn is left out", err=True)
            continue
        except KeyboardInterrupt:
            if not types:
                raise
            speaker.cut = "interrupted"
        if types and speaker.cut:
            click.echo(f"lane: {speaker.cut}", err=True)
        if speaker.said:
            messages += [turn, {"role": "assistant", "content": "".join(speaker.said)}]


@contextmanager
def holding(model: Model) -> Iterator[None]:
    """Says, of what does not fit the context, how to ask for a longer one, if there is one."""
    try:
        yield
    except CapacityError as error:
        most = max(LONGEST_CONTEXT, model.engine.model.config.context)
        if model.context >= most:
            raise
        raise CapacityError(f"{error}; --ctx N holds more, up to {most}") from None


def _read_line(asks: bool) -> bytes | None:
    """The next line of stdin, asked for where someone types it; None at its end."""
    if asks:
        click.echo(PROMPT, nl=False, err=True)
    line = sys.stdin.buffer.readline()
    if not line and asks:
        click.echo(err=True)
    return line.removesuffix(b"\n").removesuffix(b"\r") if line else None
