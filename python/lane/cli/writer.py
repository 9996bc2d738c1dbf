"""Generated text on its way to stdout: every piece at once, and a line break at the end."""

from __future__ import annotations

import io
import sys
from types import TracebackType

# Control characters as escapes, but for those that lay text out: on a terminal the others are commands.
_ESCAPES = {code: ascii(chr(code))[1:-1] for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}


class Writer:
    """Writes pieces as they come. What stdout's encoding lacks becomes `?`, so that no text ends a run; a terminal
    gets no control characters of a model's making."""

    def __init__(self) -> None:
        self._ends_line = True
        self._escapes = _ESCAPES if sys.stdout.isatty() else {}
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if not self._ends_line and not isinstance(error, OSError):
            self.write("\n")

    def write(self, text: str) -> None:
        """Shows a piece now."""
        if not text:
            return
        self._ends_line = text.endswith("\n")  # before it is shown: an interrupt may come while it is
        sys.stdout.write(text.translate(self._escapes))
        sys.stdout.flush()
