"""The grids of the IQ formats: tables of vectors of 4 or 8 small integers, chosen once by their authors.

They are data that no formula yields. They are read from the gguf package, which carries them for its own
decoder, and each is held to a digest: a package whose grid had another content or was kept another way is
refused by name.
"""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lane.errors import UnsupportedError
from lane.quant.table import Table


def _grid(name: str, entries: int, width: int, digest: str) -> Table:
    return Table(f"{name.lower()}_grid", lambda: _load(name, (entries, width), digest))


def _load(name: str, shape: tuple[int, int], digest: str) -> NDArray[Any]:
    """The grid of the format `name`, (entries, width) int8; UnsupportedError if gguf has another or none."""
    import gguf.quants  # here, for it takes longer to import than most formats take to decode

    owner = getattr(gguf.quants, name, None)
    found = "no such grid"
    if owner is not None and hasattr(owner, "init_grid"):
        owner.init_grid()
        grid = np.asarray(owner.grid).reshape(-1, shape[1]).astype(np.int8)
        found = hashlib.sha256(grid.tobytes()).hexdigest()
        if grid.shape == shape and found == digest:
            return grid
    raise UnsupportedError(f"quant: grid of {name} in the gguf package: found {found}, allowed {digest}")


def _masks() -> NDArray[Any]:
    """Seven signs are stored; the eighth makes the number of minus signs even."""
    low = np.arange(128, dtype=np.uint8)
    parity = np.bitwise_count(low) & np.uint8(1)
    return low | (parity << np.uint8(7))


IQ2_XXS_GRID = _grid("IQ2_XXS", 256, 8, "05826b5d3e472a3a78f196be62ac78acf81df0f909626e12ab9fa2a5d490dd54")
IQ2_XS_GRID = _grid("IQ2_XS", 512, 8, "06e47aaca60b4dc1d9b5a3f34540437058a6b142b4d7a59d5ded769b4d1bf1de")
IQ2_S_GRID = _grid("IQ2_S", 1024, 8, "e1aa1473412b0552c2174c30ef22ab4073f6a181b85a17056e8249bd2932fd88")
IQ3_XXS_GRID = _grid("IQ3_XXS", 256, 4, "46e35f5a997efdee6c99ce57854c8a0d4f0ff8ca57e5e8a60c0793ea580acf5d")
IQ3_S_GRID = _grid("IQ3_S", 512, 4, "bd1af4945a1717c65610b0284e4628b9a1ba3b306fae3a06f6e5f597356e349f")
IQ1_S_GRID = _grid("IQ1_S", 2048, 8, "07540ffc1aeaf6ad4d97e96b0fcc765aae39671d4ae4a27bbd0e796fde167c6a")

# Masks of eight signs, by the seven bits that IQ2_XXS, IQ2_XS and IQ3_XXS store.
SIGN_MASKS = Table("sign_masks", _masks)
