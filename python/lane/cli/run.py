"""`lane run`: generates text.

Enters: a model and a prompt of text, ids, a conversation's turn or stdin. Leaves: the generated text alone on stdout,
piece by piece; on stderr a bar while it is slow to begin, and one line that sums up.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from lane.api import Model, load
from lane.cli.conversation import converse, fitting, reply
from lane.cli.options import context_option, device_options, model_argument, numerics_option
from lane.cli.progress import progress
from lane.cli.summary import summary_text
from lane.cli.writer import Writer
from lane.errors import UsageError

COUNT = 128  # tokens generated unless asked for more, and unless the context ends before
REPLY_COUNT = 1024  # the same for a conversation's turn, which the model ends itself


@dataclass(frozen=True, slots=True)
class Prompt:
    """What to generate from: one of a text, ids, a turn (chat with text), a conversation (chat without)."""

    text: str | None
    ids: list[int] | None
    chat: bool

    @property
    def is_conversation(self) -> bool:
        """Whether turns are read until there are no more."""
        return self.chat and self.text is None


@click.command("run")
@model_argument
@click.option("-p", "--prompt", metavar="TEXT", help="Text to continue.  [default: what stdin holds]")
@click.option(
    "--chat",
    is_flag=False,
    flag_value="",
    metavar="[TEXT]",
    help="Answer TEXT, or -p's, by the model's chat template; without a text, hold a conversation, a line a turn.",
)
@click.option("--tokens", metavar="IDS", help="Token ids to continue, separated by commas or spaces.")
@click.option(
    "-n", "count", type=click.IntRange(min=1), metavar="N", help="Tokens to generate.  [default: 128; chat: 1024]"
)
@context_option
@click.option(
    "--temp", "temperature", type=float, default=0.0, show_default=True, help="Temperature; 0 takes the best token."
)
@click.option("--top-k", type=int, metavar="K", help="Choose among the K best.")
@click.option("--top-p", type=float, metavar="P", help="Choose among the best whose shares reach P.")
@click.option("--min-p", type=float, metavar="P", help="Choose among those with at least P of the best's share.")
@click.option("--seed", type=int, help="Seed of the choice.  [default: another each time]")
@click.option("--stop", multiple=True, metavar="S", help="End before this text; may be given again.")
@numerics_option
@device_options
def command(
    model: Path,
    prompt: str | None,
    chat: str | None,
    tokens: str | None,
    count: int | None,
    context: int | None,
    numerics: str,
    device: str,
    threads: int | None,
    **options: Any,
) -> None:
    """Generate text from MODEL.

    Text goes to stdout, a line that sums up to stderr. The prompt is not repeated.
    """
    what = _prompt(prompt, chat, tokens)
    started = time.perf_counter()
    with progress("loading"):
        loaded = load(model, device=device, numerics=numerics, ctx=context, threads=threads)
        _ = loaded.tokenizer
    loaded.load_seconds = time.perf_counter() - started
    try:
        _generate(loaded, what, count, options)
    except KeyboardInterrupt:
        click.echo(summary_text(loaded), err=True)
        raise
    click.echo(summary_text(loaded), err=True)


def _generate(model: Model, prompt: Prompt, count: int | None, options: dict[str, Any]) -> None:
    if prompt.is_conversation:
        converse(model, count, REPLY_COUNT, options)
        return
    if prompt.chat:
        reply(model, [{"role": "user", "content": prompt.text}], count, REPLY_COUNT, options)
        return
    ids = prompt.ids if prompt.ids is not None else model.tokenizer.encode(_text(prompt))
    with progress("prefill") as report, Writer() as writer:
        for piece in model.generate(ids, count or fitting(COUNT, model, ids), progress=report, **options):
            writer.write(piece.text)


def _text(prompt: Prompt) -> str:
    assert prompt.text is not None
    return prompt.text


def _prompt(text: str | None, chat: str | None, tokens: str | None) -> Prompt:
    """The one prompt that the options name; stdin's text where they name none and it is no terminal."""
    if (text is not None and (chat or tokens is not None)) or (chat is not None and tokens is not None):
        raise UsageError("run: more than one of -p TEXT, --chat TEXT and --tokens IDS, allowed one")
    text = chat or text
    if chat is not None:
        return Prompt(text, None, True)
    if tokens is not None:
        return Prompt(None, _ids(tokens), False)
    if text is None:
        if sys.stdin.isatty():
            raise UsageError("run: no prompt, allowed -p TEXT, --chat, --tokens IDS, or a text on stdin")
        text = _decode(sys.stdin.buffer.read())
    return Prompt(text, None, False)


def _ids(text: str) -> list[int]:
    words = text.replace(",", " ").split()
    try:
        return [int(word) for word in words]
    except ValueError:
        bad = next(word for word in words if not word.lstrip("-").isdecimal())
        raise UsageError(f"run: --tokens holds '{bad}', allowed whole numbers separated by commas or spaces") from None


def _decode(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"run: the prompt's byte {error.start} is 0x{raw[error.start]:02x}, allowed UTF-8") from None
