"""`lane run`: generates text.

Enters: a model and a prompt of text, ids, a conversation's turn or stdin. Leaves: the generated text alone on stdout,
piece by piece; on stderr what the user should know, a bar while it is slow to begin, and one line that sums up.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from lane.api import Model, load
from lane.cli.conversation import Speaker, converse, holding
from lane.cli.notices import warn
from lane.cli.options import Finite, context_option, device_options, model_argument, numerics_option
from lane.cli.progress import progress
from lane.cli.prompt import NO_TEXT, Prompt, file_text, prompt_of, variables_of
from lane.cli.summary import summary_text
from lane.errors import LaneError
from lane.limits import context_warning
from lane.sampling_defaults import conversation_sampling
from lane.stopping import StopStrings

COUNT = 128  # tokens generated unless asked for more, and unless the context ends before
REPLY_COUNT = 1024  # the same for a conversation's turn, which the model ends itself


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
@click.option("-f", "--file", type=click.Path(path_type=Path), metavar="FILE", help="Take that text from a file.")
@click.option(
    "--chat",
    is_flag=False,
    flag_value=NO_TEXT,
    metavar="[TEXT]",
    help="Answer TEXT, or -p's, by the model's chat template; without a text, hold a conversation, a line a turn.",
)
@click.option("--tokens", metavar="IDS", help="Token ids to continue, separated by commas or spaces.")
@click.option("--plain", is_flag=True, help="Read control tokens that the text to continue writes as text.")
@click.option(
    "--chat-template-file",
    "template",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A template in place of the model's.",
)
@click.option(
    "--chat-var",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="A variable of the template, such as enable_thinking=false; may be given again.",
)
@click.option(
    "-n", "count", type=click.IntRange(min=1), metavar="N", help="Tokens to generate.  [default: 128; chat: 1024]"
)
@context_option
@click.option(
    "--temp",
    "temperature",
    type=Finite(min=0),
    metavar="T",
    help="Temperature; 0 takes the best token.  [default: 0; chat: the model's own, else 0.8]",
)
@click.option("--top-k", type=click.IntRange(min=1), metavar="K", help="Choose among the K best.")
@click.option(
    "--top-p",
    type=Finite(min=0, max=1, min_open=True),
    metavar="P",
    help="Choose among the best whose shares reach P.",
)
@click.option(
    "--min-p", type=Finite(min=0, max=1), metavar="P", help="Choose among those with at least P of the best's share."
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the choice.  [default: another each time]")
@click.option("--stop", multiple=True, metavar="S", help="End before this text; may be given again.")
@numerics_option
@device_options
def command(
    model: Path,
    prompt: str | None,
    file: Path | None,
    chat: str | None,
    tokens: str | None,
    plain: bool,
    template: Path | None,
    pairs: Sequence[str],
    count: int | None,
    context: int | None,
    numerics: str,
    device: str,
    threads: int | None,
    stop: Sequence[str],
    **sampling: Any,
) -> None:
    """Generate text from MODEL.

    Text goes to stdout, a line that sums up to stderr. The prompt is not repeated.
    """
    what = prompt_of(prompt, file, chat, tokens)
    variables = variables_of(pairs)
    source = None if template is None else file_text(template, "--chat-template-file")
    StopStrings(stop)
    started = time.perf_counter()
    with progress("loading"):
        loaded = load(model, device=device, numerics=numerics, ctx=context, threads=threads)
        warn([*loaded.tokenizer.warnings, *what.warnings(), *_context_warnings(loaded)])
    if source is not None:
        from lane.checkpoint.chat import ChatTemplate  # imported when a conversation needs it

        loaded.template = ChatTemplate.from_metadata(loaded.checkpoint.metadata, source=source)
    loaded.load_seconds = time.perf_counter() - started
    options = {"stop": stop, **_sampling(loaded, what, sampling)}
    speaker = Speaker(loaded, count, REPLY_COUNT if what.chat else COUNT, options, variables)
    try:
        _generate(speaker, what, plain)
    except (LaneError, KeyboardInterrupt) as stopped:
        if what.is_conversation or isinstance(stopped, KeyboardInterrupt):
            click.echo(summary_text(loaded), err=True)
        raise
    click.echo(summary_text(loaded, speaker.cut), err=True)


def _generate(speaker: Speaker, prompt: Prompt, plain: bool) -> None:
    if prompt.is_conversation:
        converse(speaker)
    elif prompt.chat:
        speaker.reply([{"role": "user", "content": prompt.text}])
    elif prompt.ids is not None:
        speaker.speak(prompt.ids)
    else:
        assert prompt.text is not None
        with holding(speaker.model):
            ids = speaker.model.encode(prompt.text, parse_special=not plain)
        speaker.speak(ids)


def _sampling(model: Model, prompt: Prompt, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked for, and in a conversation the defaults of one beside it. A prompt is continued by the best token
    unless told otherwise."""
    known = {name: value for name, value in asked.items() if value is not None}
    if not prompt.chat:
        return known
    usual, warnings = conversation_sampling(model.checkpoint.metadata)
    warn(warnings)
    return {**{name: getattr(usual, name) for name in asked}, **known}


def _context_warnings(model: Model) -> Sequence[str]:
    warning = context_warning(model.context, model.engine.model.config.context)
    return () if warning is None else (warning,)
