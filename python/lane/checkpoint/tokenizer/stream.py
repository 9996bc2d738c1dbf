"""Turns ids into text one at a time, as they are generated.

What enters are ids; what leaves is text that is complete: bytes of a character that is still to be finished are held
back. What is not UTF-8 becomes U+FFFD.
"""

import codecs
from collections.abc import Callable


class TokenStream:
    """The text of a growing sequence: the pieces it gives, joined, are the text of all ids pushed."""

    def __init__(self, token_bytes: Callable[[int], bytes]) -> None:
        self._token_bytes = token_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, identity: int) -> str:
        """The text that this id completes, "" where it completes none."""
        return self._decoder.decode(self._token_bytes(identity))

    def flush(self) -> str:
        """What is held back, as U+FFFD; "" where nothing is. The stream then starts anew."""
        text = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return text
