"""`lane run`: generates text.

Enters: a model and a prompt of text, ids, a conversation's turn or stdin. Leaves: the generated text alone on stdout,
piece by piece; on stderr a bar while it is slow to begin, and one line that sums up.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from lane.api import Model, load
from lane.cli.conversation import converse, fitting, reply
from lane.cli.options import context_option, device_options, model_argument, numerics_option
from lane.cli.progress import progress
from lane.cli.summary import summary_text
from lane.cli.text import decoded
from lane.cli.writer import Writer
from lane.errors import LaneError, UsageError
from lane.sampling import Sampling
from lane.stopping import StopStrings

COUNT = 128  # tokens generated unless asked for more, and unless the context ends before
REPLY_COUNT = 1024  # the same for a conversation's turn, which the model ends itself

NO_TEXT = "\0"  # what --chat without a text gives, and no argument can be


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


class RunCommand(click.Command):
    """Says so where --chat took MODEL as its text."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = [*args, ""]
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter as error:
            taken = words[words.index("--chat") + 1] if "--chat" in words else ""
            if not taken or taken.startswith("-"):
                raise
            raise click.UsageError(f"Missing argument 'MODEL': --chat took '{taken}' as its text", error.ctx) from None


@click.command("run", cls=RunCommand)
@model_argument
@click.option("-p", "--prompt", metavar="TEXT", help="Text to continue.  [default: what stdin holds]")
@click.option(
    "--chat",
    is_flag=False,
    flag_value=NO_TEXT,
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
    _check(**options)
    started = time.perf_counter()
    with progress("loading"):
        loaded = load(model, device=device, numerics=numerics, ctx=context, threads=threads)
        _ = loaded.tokenizer
    loaded.load_seconds = time.perf_counter() - started
    try:
        _generate(loaded, what, count, options)
    except (LaneError, KeyboardInterrupt) as stop:
        if what.is_conversation or isinstance(stop, KeyboardInterrupt):
            click.echo(summary_text(loaded), err=True)
        raise
    click.echo(summary_text(loaded), err=True)


def _check(
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    min_p: float | None,
    seed: int | None,
    stop: Sequence[str],
) -> None:
    """Refuses what generation would, before anything is loaded."""
    Sampling(temperature, top_k, top_p, min_p, seed)
    StopStrings(stop)


def _generate(model: Model, prompt: Prompt, count: int | None, options: dict[str, Any]) -> None:
    if prompt.is_conversation:
        converse(model, count, REPLY_COUNT, options)
        return
    if prompt.chat:
        reply(model, [{"role": "user", "content": prompt.text}], count, REPLY_COUNT, options)
        return
    ids = prompt.ids if prompt.ids is not None else model.encode(_text(prompt))
    with progress("prefill") as report, Writer() as writer:
        for piece in model.generate(ids, count or fitting(COUNT, model, ids), progress=report, **options):
            writer.write(piece.text)


def _text(prompt: Prompt) -> str:
    assert prompt.text is not None
    return prompt.text


def _prompt(text: str | None, chat: str | None, tokens: str | None) -> Prompt:
    """The one prompt that the options name; stdin's text where they name none and it is no terminal."""
    says = chat is not None and chat != NO_TEXT
    if (text is not None and (says or tokens is not None)) or (chat is not None and tokens is not None):
        raise UsageError("run: more than one of -p TEXT, --chat TEXT and --tokens IDS, allowed one")
    if chat == "":
        raise UsageError("run: --chat '', allowed a text, or none to hold a conversation")
    if chat is not None:
        return Prompt(_argument(text if chat == NO_TEXT else chat), None, True)
    if tokens is not None:
        return Prompt(None, _ids(tokens), False)
    if text is None:
        if sys.stdin.isatty():
            raise UsageError("run: no prompt, allowed -p TEXT, --chat, --tokens IDS, or a text on stdin")
        return Prompt(decoded(sys.stdin.buffer.read(), "the prompt"), None, False)
    return Prompt(_argument(text), None, False)


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
