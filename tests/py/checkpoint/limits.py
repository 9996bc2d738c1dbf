"""Runs something in a process of its own, under a bound on what it may allocate, and measures its time.

In: a function without arguments and a number of bytes. Out: its result as text, and the processor time that it
took. Memory past the bound is refused by the system: the function then fails as it would on a full machine.
"""

import json
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Outcome(NamedTuple):
    result: str
    seconds: float


def run_within(more_bytes: int, function: Callable[[], str]) -> Outcome:
    """The function's result, allocating at most `more_bytes` beyond what this process has mapped."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (mapped + more_bytes, resource.RLIM_INFINITY))
            start = time.process_time()
            outcome = Outcome(function(), time.process_time() - start)
            os.write(write_end, json.dumps(outcome).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    assert status == 0 and answer, f"the process ended with status {status}"
    return Outcome(*json.loads(answer))
