"""Every environment variable that lane reads, declared once.

A flag is on when it is set to anything but the empty string or 0.
"""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flag:
    """One switch and what it does."""

    name: str
    meaning: str

    def is_on(self) -> bool:
        """As the environment says now."""
        return os.environ.get(self.name, "") not in ("", "0")


DEBUG = Flag("LANE_DEBUG", "an unexpected error of the command line prints its traceback")
UPDATE_GOLDENS = Flag("LANE_UPDATE_GOLDENS", "tests write the goldens that they would compare with")

FLAGS = (DEBUG, UPDATE_GOLDENS)
