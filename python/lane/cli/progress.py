"""A progress bar on stderr for work that turns out to take over a second; on anything but a terminal there is none."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

DELAY_SECONDS = 1.0

Report = Callable[[int, int], None]  # done, of how many


class _Bar:
    """A bar that shows itself once its delay is over. The timer's thread and the worker's meet under the lock."""

    def __init__(self, label: str, delay_seconds: float) -> None:
        self._label = label
        self._lock = threading.Lock()
        self._state: tuple[int, int | None] = (0, None)
        self._progress: Progress | None = None
        self._ended = False
        self._timer = threading.Timer(delay_seconds, self._show)
        self._timer.daemon = True
        self._timer.start()

    def report(self, done: int, total: int) -> None:
        with self._lock:
            self._state = (done, total)
            if self._progress is not None:
                self._progress.update(self._progress.task_ids[0], completed=done, total=total)
        if done >= total:
            self.end()

    def end(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._ended = True
            if self._progress is not None:
                self._progress.stop()
                self._progress = None

    def _show(self) -> None:
        # rich takes a while to import: only work that is slow anyway pays for it.
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with self._lock:
            if self._ended:
                return
            progress = Progress(*columns, console=Console(stderr=True), transient=True)
            done, total = self._state
            progress.add_task(self._label, completed=done, total=total)
            progress.start()
            self._progress = progress


@contextmanager
def progress(label: str, delay_seconds: float = DELAY_SECONDS) -> Iterator[Report]:
    """Shows how far the work in the `with` block is, by calls of what it gives; without calls, only that it goes on.

    The bar goes when all is done, or else with the block.
    """
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    bar = _Bar(label, delay_seconds)
    try:
        yield bar.report
    finally:
        bar.end()
