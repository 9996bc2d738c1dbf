"""Checks of what a caller passes, at the call and before any work.

Enters: an argument and what it is called. Leaves: it, as a plain value; or a UsageError with the value and the allowed.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import NoReturn

from lane.errors import UsageError


def whole(name: str, value: object, low: int, high: int | None = None) -> int:
    """A whole number of any integer type; True is none."""
    found = None if isinstance(value, bool) or not isinstance(value, Integral) else int(value)
    if found is None or found < low or (high is not None and found > high):
        refuse(name, value, f"a whole number, {low} {'or more' if high is None else f'to {high}'}")
    return found


def number(name: str, value: object, allowed: str) -> float:
    """A number of any kind; its range is the caller's to check, which `allowed` tells."""
    if isinstance(value, bool) or not isinstance(value, Real):
        refuse(name, value, f"a number, {allowed}")
    return float(value)


def choice(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in allowed:
        refuse(name, value, ", ".join(allowed))
    return value


def refuse(name: str, value: object, allowed: str) -> NoReturn:
    """Raises the UsageError."""
    raise UsageError(f"{name} is {value!r}, allowed {allowed}")
