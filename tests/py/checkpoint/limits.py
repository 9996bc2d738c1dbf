"""Work in a process of its own, each piece under a bound on what it may allocate.

Memory past the bound is refused by the system: the piece then fails as it would on a full machine, which no
allocation that merely goes untouched would show otherwise.
"""

import json
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Piece(NamedTuple):
    """Work that returns text, and how much it may allocate beyond what the process has mapped by then."""

    work: Callable[[], str]
    more_bytes: int


class Outcome(NamedTuple):
    """What the work returned, and the processor time that it took."""

    result: str
    seconds: float


def run_within(pieces: list[Piece]) -> list[Outcome]:
    """Runs the pieces one after the other in a fork of this process."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(read_end)
            with os.fdopen(write_end, "w") as pipe:
                json.dump([_run(piece) for piece in pieces], pipe)
            code = 0
        finally:
            os._exit(code)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the process ended with status {status}"
    return [Outcome(*outcome) for outcome in json.loads(answer)]


def _run(piece: Piece) -> Outcome:
    mapped_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (mapped_bytes + piece.more_bytes, hard))
    start = time.process_time()
    result = piece.work()
    seconds = time.process_time() - start
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    return Outcome(result, seconds)
