"""Every error that lane raises on purpose.

Each message names the stage, the object, the value found and the value allowed. `exit_code` is what the
command line exits with, so that a script can tell the classes apart; anything else that escapes is a fault of
lane's own and exits with 1. The C++ half throws `lane::Error`, which arrives here as the class of its kind.
"""

from typing import ClassVar

MOST_CHARS = 1000  # of a message: a name that a file gives may be as long as the file


def one_line(text: str, most: int = MOST_CHARS) -> str:
    """Text on one line that any terminal can show, whoever wrote it: what does not print is escaped, and of what is
    longer than `most` characters before that the middle is left out: a long name, not what is said of it."""
    kept = (most - 3) // 2
    cut = text if len(text) <= most else f"{text[: most - 3 - kept]}...{text[len(text) - kept :]}"
    return cut if cut.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut)


class LaneError(Exception):
    """The base of all: catch it to catch everything that lane refuses. A message is one line (`one_line`), whatever
    is in the names that it quotes from a file."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


class UsageError(LaneError):
    """A request that makes no sense: an unknown option, a value out of its range, a path that does not exist."""

    exit_code: ClassVar[int] = 2


class CheckpointError(LaneError):
    """A file that is malformed, truncated, not GGUF, or that lacks a tensor or a key which its kind must have."""

    exit_code: ClassVar[int] = 3


class UnsupportedError(LaneError):
    """A well-formed file or request that lane does not run: an architecture, tensor type, metadata value or op."""

    exit_code: ClassVar[int] = 4


class CapacityError(LaneError):
    """Something that does not fit: a prompt longer than the context, a plan larger than the memory."""

    exit_code: ClassVar[int] = 5
