"""Merges neighbouring symbols by rank: the one algorithm under byte-level BPE and SentencePiece alike.

    while some neighbours (a, b) have a rank:  join the pair of the smallest rank, the leftmost where equal

A heap holds the candidate pairs, so n symbols take O(n log n) steps whatever they are.
"""

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush


def merge(symbols: Sequence[str], rank_of: Callable[[str], float | None], joint: str = "") -> list[str]:
    """The symbols left when nothing more can be joined; the rank of (a, b) is that of a + joint + b, None where they
    are not to be joined. No symbol is empty."""
    text = list(symbols)
    before = list(range(-1, len(text) - 1))
    after = [*range(1, len(text)), -1]
    # A pair is (rank, left, right, length of both): when a symbol has grown since, the length gives it away.
    pairs: list[tuple[float, int, int, int]] = []
    for left in range(len(text) - 1):
        a, b = text[left], text[left + 1]
        rank = rank_of(a + joint + b)
        if rank is not None:
            pairs.append((rank, left, left + 1, len(a) + len(b)))
    heapify(pairs)
    while pairs:
        _, left, right, length = heappop(pairs)
        a, b = text[left], text[right]
        if not a or not b or len(a) + len(b) != length:
            continue
        joined = text[left] = a + b
        text[right] = ""
        following = after[left] = after[right]
        if following >= 0:
            before[following] = left
            rank = rank_of(joined + joint + text[following])
            if rank is not None:
                heappush(pairs, (rank, left, following, length + len(text[following])))
        preceding = before[left]
        if preceding >= 0:
            rank = rank_of(text[preceding] + joint + joined)
            if rank is not None:
                heappush(pairs, (rank, preceding, left, len(text[preceding]) + length))
    return [symbol for symbol in text if symbol]
