"""Named numpy arrays that launches' definitions run on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lane.launch.quantised import requantised
from lane.launch.record import F32, F64, Launch, Numerics

Array = npt.NDArray[Any]


class Arrays:
    """Plain arrays, flat, in the types that they are given in (float64: nothing is rounded); matrices rows × cols."""

    def __init__(self, plain: Mapping[str, Array], matrices: Mapping[str, F64] | None = None) -> None:
        self.numerics = Numerics.INT8
        self._plain = {name: array.reshape(-1).copy() for name, array in plain.items()}
        self._quantised: dict[str, F64] = {}
        self._matrices = dict(matrices or {})

    def plain(self, name: str) -> Array:
        return self._plain[name]

    def quantised(self, name: str) -> F64:
        return self._quantised[name]

    def quantise(self, name: str, values: F32, start: int = 0) -> None:
        kept = self._quantised.setdefault(name, np.full(self._plain[name].size, np.nan))
        kept[start : start + values.size] = requantised(values, self.numerics)

    def matrix(self, name: str) -> F64:
        return self._matrices[name]

    def run(self, launches: Sequence[Launch]) -> Arrays:
        """Runs launches, and gives itself."""
        for launch in launches:
            launch.compute(self)
        return self

    def quantised_names(self) -> Iterator[str]:
        """The arrays that have a quantised form."""
        yield from self._quantised
