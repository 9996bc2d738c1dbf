"""lane: an ahead-of-time compiler for language-model inference on one device.

`lane.load(path)` gives a model. What is here is imported when it is first asked for, and nothing before.
"""

TYPE_CHECKING = False  # as typing has it, which takes a while to import

if TYPE_CHECKING:
    from lane.api import Model, Piece, load
    from lane.errors import CapacityError, CheckpointError, LaneError, UnsupportedError, UsageError

__version__ = "0.1.0"

_ERRORS = ("CapacityError", "CheckpointError", "LaneError", "UnsupportedError", "UsageError")

__all__ = [
    "CapacityError",
    "CheckpointError",
    "LaneError",
    "Model",
    "Piece",
    "UnsupportedError",
    "UsageError",
    "__version__",
    "load",
]


def __getattr__(name: str) -> object:
    if name.startswith("_") or name not in __all__:
        raise AttributeError(f"module 'lane' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module("lane.errors" if name in _ERRORS else "lane.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
