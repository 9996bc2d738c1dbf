"""Goldens: texts of a stage that are kept in tests/data/goldens and compared line by line.

A missing golden fails. With LANE_UPDATE_GOLDENS set, pytest run from the tree writes them instead; the change is then
reviewed like any other.
"""

from __future__ import annotations

from lane import flags
from tests.py.support.fixtures import DATA

GOLDENS = DATA / "goldens"


def check_golden(name: str, text: str) -> None:
    """Compares `text` with the golden `name`."""
    path = GOLDENS / name
    if flags.UPDATE_GOLDENS.is_on():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return
    assert text.splitlines() == golden_text(name).splitlines(), f"golden {name} differs"


def golden_text(name: str) -> str:
    """What the golden `name` holds."""
    path = GOLDENS / name
    assert path.exists(), f"golden {name} is missing; {flags.UPDATE_GOLDENS.name}=1 writes it"
    return path.read_text()
