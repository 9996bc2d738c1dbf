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
from contextlib import suppress
from typing import IO

import click

from lane import flags
from lane.cli.group import lane_command
from lane.errors import ExitCode, LaneError, one_line


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and gives its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _check_streams()
        with lane_command.make_context("lane", words) as context:
            lane_command.invoke(context)
        sys.stdout.flush()
        return ExitCode.DONE
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        return _fail(_usage(error), error.exit_code)
    except LaneError as error:
        return _fail(str(error), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        _discard(sys.stdout)
        return ExitCode.PIPE
    except OSError as error:
        _discard(sys.stdout)
        return _fail(f"the system refuses to read or write: {error}", ExitCode.SYSTEM)
    except MemoryError:
        return _fail("out of memory", ExitCode.CAPACITY)
    except Exception as error:
        return _fault(error)


def _check_streams() -> None:
    """A caller may have closed the standard streams: stdin is then empty, stderr goes nowhere, stdout is needed."""
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115
    if sys.stdout is None:
        raise OSError("stdout is closed")
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115


def _usage(error: click.ClickException) -> str:
    said = error.format_message().rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    return said if context is None else f"{said}; see {context.command_path} --help"


def _fail(message: str, code: int) -> int:
    try:
        click.echo(f"lane: error: {one_line(message)}", err=True)
    except OSError:
        _discard(sys.stderr)
    return code


def _fault(error: Exception) -> int:
    if flags.DEBUG.is_on():
        traceback.print_exception(error)
        return ExitCode.FAULT
    what = f"{type(error).__name__}: {error}"
    return _fail(f"a fault of lane's own, please report it ({what}); {flags.DEBUG.name}=1 shows where", ExitCode.FAULT)


def _discard(stream: IO[str] | None) -> None:
    """What a stream still holds cannot be written: the interpreter's flush at exit must not complain about it."""
    if stream is not None:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
