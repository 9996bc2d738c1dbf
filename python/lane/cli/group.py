"""The group of commands.

Each command is one module; the table here has its one-line help, so that `lane --help` imports none.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import click

from lane import __version__

COMMANDS: Mapping[str, str] = {
    "run": "Generate text.",
    "inspect": "Show what a checkpoint holds and whether it runs.",
    "plan": "Show what a step is compiled to.",
    "fit": "Say whether a checkpoint fits a device, and what would move.",
    "bench": "Measure prefill and decode rates.",
}


class LaneGroup(click.Group):
    """Finds a command's module by its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"lane.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LaneGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, message="lane %(version)s")
def lane_command() -> None:
    """An ahead-of-time compiler for language-model inference on one device.

    MODEL is a GGUF file, or the first of the files that one was split into.

    Exit codes: 0 done; 1 a fault of lane's own; 2 a request that makes no sense; 3 a malformed checkpoint; 4 something
    that lane does not run; 5 something that does not fit; 130 interrupted.
    """
