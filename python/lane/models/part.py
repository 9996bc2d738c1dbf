"""Parts: what configurations are composed of."""

from __future__ import annotations

from collections.abc import Mapping

Dim = int | tuple[int, ...]  # a dimension: one number, or one a layer


class Part:
    """A part of a configuration, which lends the tensor table dimensions and kinds of layers by name."""

    def dims(self) -> Mapping[str, Dim]:
        """Dimensions."""
        return {}

    def kinds(self) -> Mapping[str, tuple[int, ...]]:
        """The layers of each kind."""
        return {}
