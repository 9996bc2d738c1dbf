"""Every error that lane raises on purpose, and the one table of exit codes.

Each message names the stage, the object, the value found and the value allowed. `exit_code` is what the command line
and an emitted program exit with and the C interface returns, so that a script or a host can tell the classes apart;
anything else that escapes is a fault of lane's own and exits with 1. The C++ half throws `lane::Error`, which arrives
here as the class of its kind; `python -m lane.errors FILE` writes codes and kinds for it, as `lane_errors.h`.
"""

import enum
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

MOST_CHARS = 1000  # of a message: a name that a file gives may be as long as the file


def one_line(text: str, most: int = MOST_CHARS) -> str:
    """Text on one line that any terminal can show, whoever wrote it: what does not print is escaped, and of what is
    longer than `most` characters before that the middle is left out: a long name, not what is said of it."""
    kept = (most - 3) // 2
    cut = text if len(text) <= most else f"{text[: most - 3 - kept]}...{text[len(text) - kept :]}"
    return cut if cut.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut)


class ExitCode(enum.IntEnum):
    """What a process of lane's ends with, and what each code means."""

    DONE = 0, "done"
    FAULT = 1, "a fault of lane's own; `LANE_DEBUG=1` prints its traceback"
    USAGE = 2, "a request that makes no sense: an unknown option, a value out of its range, a path that does not open"
    CHECKPOINT = (
        3,
        "a file that is malformed, incomplete, not GGUF (what it is instead is said), or that lacks a tensor or a key "
        "which its kind must have",
    )
    UNSUPPORTED = 4, "a well-formed file or request that lane does not run"
    CAPACITY = (
        5,
        "something that does not fit: a prompt or a step longer than the context, a context longer than lane runs, "
        "memory",
    )
    # 74 is sysexits.h's EX_IOERR; the last two are a shell's 128 + SIGINT and 128 + SIGPIPE.
    SYSTEM = 74, "the system refused to read or write: no space left for stdout, or stdout is closed"
    INTERRUPTED = 130, "interrupted by Ctrl-C"
    PIPE = 141, "the reader of stdout went away"

    meaning: str

    def __new__(cls, code: int, meaning: str) -> "ExitCode":
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member


class LaneError(Exception):
    """The base of all: catch it to catch everything that lane refuses. A message is one line (`one_line`), whatever
    is in the names that it quotes from a file."""

    exit_code: ClassVar[ExitCode] = ExitCode.FAULT

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


class UsageError(LaneError):
    """A request that makes no sense: an unknown option, a value out of its range, a path that does not exist."""

    exit_code: ClassVar[ExitCode] = ExitCode.USAGE


class CheckpointError(LaneError):
    """A file that is malformed, truncated, not GGUF, or that lacks a tensor or a key which its kind must have."""

    exit_code: ClassVar[ExitCode] = ExitCode.CHECKPOINT


class UnsupportedError(LaneError):
    """A well-formed file or request that lane does not run: an architecture, tensor type, metadata value or op."""

    exit_code: ClassVar[ExitCode] = ExitCode.UNSUPPORTED


class CapacityError(LaneError):
    """Something that does not fit: a prompt longer than the context, a plan larger than the memory."""

    exit_code: ClassVar[ExitCode] = ExitCode.CAPACITY


KINDS = (LaneError, UsageError, CheckpointError, UnsupportedError, CapacityError)


def header_text() -> str:
    """The text of `lane_errors.h`: C, and C++ as it is."""
    return "\n".join([*_header_lines(), ""])


def _header_lines() -> Iterator[str]:
    yield "// Written by `python -m lane.errors`: exit codes, and the kinds of errors. Not to be edited."
    yield "#ifndef LANE_ERRORS_H_"
    yield "#define LANE_ERRORS_H_"
    yield ""
    yield "typedef enum lane_status {"
    for code in ExitCode:
        yield f"  LANE_{code.name} = {int(code)},  // {code.meaning}"
    yield "} lane_status;"
    yield ""
    yield "// X(kind, code, class of lane.errors) for each kind of error."
    kinds = (f'X({kind.exit_code.name.capitalize()}, {int(kind.exit_code)}, "{kind.__name__}")' for kind in KINDS)
    yield f"#define LANE_ERROR_KINDS(X) {' '.join(kinds)}"
    yield ""
    yield "#endif  // LANE_ERRORS_H_"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(header_text())
