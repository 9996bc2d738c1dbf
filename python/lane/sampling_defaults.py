"""How a conversation is sampled where the user does not say: by what the checkpoint says, else as is usual.

Enters: metadata. Leaves: a `Sampling`, and a warning for each stored key that is not followed. A text that is merely
continued is not sampled by these but greedily.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from numbers import Real

from lane.sampling import Sampling

# Of a conversation, where the checkpoint says nothing: what llama.cpp samples by unless told otherwise.
CONVERSATION = Sampling(temperature=0.8, top_k=40, top_p=0.95, min_p=0.05)

_STORED = "general.sampling."
_STORED_NAMES = {"temp": "temperature", "top_k": "top_k", "top_p": "top_p", "min_p": "min_p"}
# Filters that lane does not have, by what they are when they do nothing (None: what they are alone does nothing).
_STORED_NEUTRAL: Mapping[str, object] = {
    "penalty_repeat": 1,
    "penalty_last_n": None,
    "xtc_probability": 0,
    "xtc_threshold": None,
    "mirostat": 0,
    "mirostat_tau": None,
    "mirostat_eta": None,
}


def conversation_sampling(metadata: Mapping[str, object]) -> tuple[Sampling, tuple[str, ...]]:
    """How to sample a conversation's replies: by a checkpoint's own `general.sampling.*`, and where it has none by
    `CONVERSATION`; and a warning for each of those keys that is not followed."""
    values, warnings = asdict(CONVERSATION), []
    for key in metadata:
        name = key.removeprefix(_STORED)
        if name == key:
            continue
        found = metadata[key]
        if name not in _STORED_NAMES:
            if name not in _STORED_NEUTRAL or _STORED_NEUTRAL[name] not in (None, found):
                warnings.append(f"sampling: {key} is {found!r}: lane has no such filter and samples without it")
        elif isinstance(found, bool) or not isinstance(found, Real) or not math.isfinite(found):
            warnings.append(f"sampling: {key} is {found!r}, allowed a number: it is not used")
        else:
            values[_STORED_NAMES[name]] = _stored(name, found)
    return Sampling(**values), tuple(warnings)


def _stored(name: str, value: Real) -> float | int | None:
    """A stored value as `Sampling` has it: those at which a filter does nothing are none."""
    number = float(value)
    if name == "temp":
        return max(number, 0.0)
    if name == "top_k":
        return int(number) if number >= 1 else None
    return number if 0 < number < 1 else None
