"""Reads the `tokenizer.*` keys of a checkpoint's metadata by name and kind.

What enters is the metadata mapping of a GGUF file: strings as `str`, arrays of strings as lists, arrays of numbers
as lists or numpy arrays. What leaves are plain Python values. A key that must be there and is not, a value of another
kind, an id outside the vocabulary: each is a `CheckpointError` that names the key, what was found, what is allowed.
"""

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lane.errors import CheckpointError

Metadata = Mapping[str, object]


def _mismatch(key: str, found: object, allowed: str) -> CheckpointError:
    return CheckpointError(f"tokenizer: {key} is {found}, allowed is {allowed}")


def string(metadata: Metadata, key: str, default: str | None = None) -> str:
    value = metadata.get(key, default)
    if value is None:
        raise _mismatch(key, "missing", "a string")
    if not isinstance(value, str):
        raise _mismatch(key, f"a {type(value).__name__}", "a string")
    return value


def flag(metadata: Metadata, key: str, default: bool) -> bool:
    value = metadata.get(key, default)
    if not isinstance(value, (bool, np.bool_)):
        raise _mismatch(key, f"a {type(value).__name__}", "a boolean")
    return bool(value)


def token_id(metadata: Metadata, key: str, count: int) -> int | None:
    """The id under `key`, in [0, count); None where the key is missing."""
    value = metadata.get(key)
    if value is None:
        return None
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise _mismatch(key, f"a {type(value).__name__}", "a token id") from None
    if not 0 <= number < count:
        raise _mismatch(key, number, f"a token id, 0 to {count - 1}")
    return number


def strings(metadata: Metadata, key: str) -> list[str]:
    value = metadata.get(key)
    if value is None:
        raise _mismatch(key, "missing", "an array of strings")
    if not isinstance(value, list) or set(map(type, value)) - {str}:
        raise _mismatch(key, f"a {type(value).__name__} that is not all strings", "an array of strings")
    try:
        "".join(value).encode()
    except UnicodeEncodeError:
        index = next(i for i, item in enumerate(value) if _has_surrogate(item))
        raise _mismatch(f"{key}[{index}]", ascii(value[index]), "valid UTF-8") from None
    return value


def _has_surrogate(item: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in item)


def numbers(metadata: Metadata, key: str, count: int) -> NDArray[Any] | None:
    """The `count` finite numbers under `key`; None where the key is missing."""
    value = metadata.get(key)
    if value is None:
        return None
    array = np.asarray(value)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise _mismatch(key, f"of type {array.dtype} and shape {array.shape}", "an array of numbers")
    if array.size != count:
        raise _mismatch(key, f"{array.size} values long", f"one a token, {count}")
    if not np.isfinite(array).all():
        index = int(np.argmin(np.isfinite(array)))
        raise _mismatch(f"{key}[{index}]", array[index], "a finite number")
    return array
