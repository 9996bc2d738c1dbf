"""lane: an ahead-of-time compiler for language-model inference on one device.

`lane.load(path)` gives a model. What is here is imported when it is first asked for.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lane.api import Model, Piece, load

__version__ = "0.1.0"

__all__ = ["Model", "Piece", "__version__", "load"]


def __getattr__(name: str) -> object:
    if name.startswith("_") or name not in __all__:
        raise AttributeError(f"module 'lane' has no attribute '{name}'")
    from lane import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
