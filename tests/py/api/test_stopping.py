"""Stop strings: what is shown is the text before the first of them, however the text is cut into pieces."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lane.errors import UsageError
from lane.stopping import StopStrings

LETTERS = "ab\n"  # few, so that stop strings are met and begun often
TEXTS = st.text(LETTERS, max_size=40)
STOPS = st.lists(st.text(LETTERS, min_size=1, max_size=5), max_size=3)


def before_first(text: str, stops: list[str]) -> tuple[str, bool]:
    """The definition, on the whole text."""
    found = [at for at in (text.find(stop) for stop in stops) if at >= 0]
    return (text[: min(found)], True) if found else (text, False)


def pieces(text: str, cuts: list[int]) -> list[str]:
    """The text cut at positions."""
    at = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    return [text[a:b] for a, b in pairwise(at)]


@given(TEXTS, STOPS, st.lists(st.integers(0, 40), max_size=40))
def test_pieces_do_not_matter(text: str, stops: list[str], cuts: list[int]) -> None:
    stopping = StopStrings(stops)
    shown = ""
    for piece in pieces(text, cuts):
        shown += stopping.push(piece)
        if stopping.hit:
            break
    else:
        shown += stopping.finish()
    # A piece that holds two stop strings is cut at the first; pieces that end before it holds the second are not.
    wanted, hit = first_met(text, stops, cuts)
    assert (shown, stopping.hit) == (wanted, hit)


def first_met(text: str, stops: list[str], cuts: list[int]) -> tuple[str, bool]:
    """The definition at the end of each piece: generation ends there, so what follows is never seen."""
    end = 0
    for piece in pieces(text, cuts):
        end += len(piece)
        shown, hit = before_first(text[:end], stops)
        if hit:
            return shown, True
    return text, False


@given(TEXTS, STOPS)
def test_shown_is_never_taken_back(text: str, stops: list[str]) -> None:
    """Character by character: nothing of a stop string that is met was shown."""
    stopping = StopStrings(stops)
    shown = ""
    for at, letter in enumerate(text):
        shown += stopping.push(letter)
        wanted, hit = before_first(text[: at + 1], stops)
        assert wanted.startswith(shown)
        if hit:
            assert shown == wanted
            return


@given(TEXTS, STOPS)
def test_holds_back_no_more_than_needed(text: str, stops: list[str]) -> None:
    stopping = StopStrings(stops)
    shown = stopping.push(text)
    if not stopping.hit:
        held = text[len(shown) :]
        assert not held or any(stop.startswith(held) for stop in stops)


def test_without_stops_everything_passes() -> None:
    stopping = StopStrings([])
    assert stopping.push("any text") == "any text"
    assert stopping.finish() == ""


def test_an_empty_stop_is_refused() -> None:
    with pytest.raises(UsageError, match="stop is '', allowed strings"):
        StopStrings(["a", ""])
