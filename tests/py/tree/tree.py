"""The working tree itself, for tests of the whole of it: where it is, and its files."""

import os
from collections.abc import Iterator
from pathlib import Path

# The test's runfiles link to the file of the tree.
ROOT = Path(os.environ["LANE_TREE"]).resolve().parent


def files(folder: str, *suffixes: str) -> Iterator[Path]:
    """The files under a folder of the tree with one of the suffixes, as paths from the root."""
    for parent, folders, names in os.walk(ROOT / folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f != "__pycache__")
        for name in sorted(names):
            if name.endswith(suffixes):
                yield (Path(parent) / name).relative_to(ROOT)
