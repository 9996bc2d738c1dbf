"""A constant table that the bits of a format refer to: a grid of vectors, a list of values or sign masks.

Made when first asked for, so that importing the formats costs nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Table:
    """`name` is what the C++ header calls it; `make` gives it, int8 or uint8 of one or two dimensions."""

    name: str
    make: Callable[[], NDArray[Any]]

    @cached_property
    def values(self) -> NDArray[Any]:
        made = self.make()
        made.flags.writeable = False
        return made

    def __getitem__(self, index: NDArray[Any]) -> NDArray[Any]:
        """The entries (values, or whole vectors) at an array of indices."""
        return np.take(self.values, index, axis=0)
