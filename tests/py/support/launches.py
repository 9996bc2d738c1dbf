"""Launches made from their kinds' declarations alone, of any values: what is true of every record is tested on them."""

from __future__ import annotations

from typing import Any

from lane.launch.fields import DestMode
from lane.launch.record import Dest, FieldSpec, Launch, Record, field_specs
from lane.launch.registry import KINDS


def options_of(kind: type[Record]) -> list[str]:
    """What a launch of a kind may do without; that its result lies in a buffer of its own, too."""
    return [spec.name for spec in field_specs(kind) if spec.option or spec.type is Dest]


def made(kind: type[Record], *options: str) -> Any:
    """A record that makes use of these options and of no other; its buffers are called b."""
    given: dict[str, Any] = {}
    for spec in field_specs(kind):
        if spec.type is Dest and not spec.optional and spec.name not in options:
            given[spec.name] = Dest("b")
        elif spec.name in options or not spec.option:
            given[spec.name] = _value(spec)
        else:
            given[spec.name] = spec.default
    return kind(**given)


def every_launch() -> list[Launch]:
    """Of every kind one launch without options, and one with all of them."""
    return [launch for kind in KINDS for launch in (made(kind), made(kind, *options_of(kind)))]


def _value(spec: FieldSpec) -> Any:
    """A value of a field that is not its default."""
    if spec.type is Dest:
        return Dest("b", DestMode.ROWS, index="b", pitch=1)
    if spec.is_record:
        kind = spec.choices[0] if spec.choices else spec.type
        return (made(kind), made(kind, *options_of(kind))) if spec.repeated else made(kind, *options_of(kind))
    if spec.is_enum:
        return next(member for member in spec.type if member is not spec.default)
    return {str: "b", bool: True, int: 3, float: 3.0}[spec.type]
