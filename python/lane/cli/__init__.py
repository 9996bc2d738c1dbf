"""The command line: `lane COMMAND …`.

Enters: arguments. Leaves: results on stdout, everything else on stderr, an exit code. Promise: what lane refuses is one
line and the exit code of its class (lane.errors); a traceback appears only under LANE_DEBUG. Commands are imported when
they are called for.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

import click

from lane import flags
from lane.cli.group import lane_command
from lane.cli.text import one_line
from lane.errors import LaneError

EXIT_FAULT = 1  # lane's own fault
EXIT_CAPACITY = 5  # as CapacityError: the process ran out of memory
EXIT_INTERRUPT = 130  # by Ctrl-C: 128 + SIGINT, as shells say it
EXIT_PIPE = 141  # the reader of stdout went away: 128 + SIGPIPE


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and gives its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with lane_command.make_context("lane", words) as context:
            lane_command.invoke(context)
        sys.stdout.flush()
        return 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except LaneError as error:
        return _fail(str(error), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPT
    except BrokenPipeError:
        _discard_stdout()
        return EXIT_PIPE
    except MemoryError:
        return _fail("out of memory", EXIT_CAPACITY)
    except Exception as error:
        return _fault(error)


def _fail(message: str, code: int) -> int:
    click.echo(f"lane: error: {one_line(message)}", err=True)
    return code


def _fault(error: Exception) -> int:
    if flags.DEBUG.is_on():
        traceback.print_exception(error)
        return EXIT_FAULT
    what = f"{type(error).__name__}: {error}"
    return _fail(f"a fault of lane's own, please report it ({what}); {flags.DEBUG.name}=1 shows where", EXIT_FAULT)


def _discard_stdout() -> None:
    """What stdout still holds has no reader: the interpreter's flush at exit must not complain about it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
