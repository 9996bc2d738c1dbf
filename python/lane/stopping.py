"""Stop strings: cutting a stream of text before the first of them."""

from __future__ import annotations

from collections.abc import Iterable

from lane.arguments import refuse


class StopStrings:
    """Passes text on as soon as it cannot be the beginning of a stop string; `hit` once one was met."""

    def __init__(self, stops: str | Iterable[str]) -> None:
        allowed = "strings of at least one character"
        if isinstance(stops, bytes) or not isinstance(stops, Iterable):
            refuse("stop", stops, allowed)
        self._stops = (stops,) if isinstance(stops, str) else tuple(stops)
        for stop in self._stops:
            if not isinstance(stop, str) or not stop:
                refuse("stop", stop, allowed)
        self._held = ""
        self.hit = False

    def push(self, text: str) -> str:
        """Adds text, gives what may be shown."""
        self._held += text
        found = [at for at in (self._held.find(stop) for stop in self._stops) if at >= 0]
        if found:
            self.hit = True
            shown, self._held = self._held[: min(found)], ""
            return shown
        keep = max((_overlap(self._held, stop) for stop in self._stops), default=0)
        cut = len(self._held) - keep
        shown, self._held = self._held[:cut], self._held[cut:]
        return shown

    def finish(self) -> str:
        """What was held back when the stream ends without a stop string."""
        shown, self._held = self._held, ""
        return shown


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that begins `stop`."""
    for length in range(min(len(text), len(stop) - 1), 0, -1):
        if text.endswith(stop[:length]):
            return length
    return 0
