"""What a quant format is: the geometry of its block, the meaning of its bits and, for some, a quantiser.

A block holds `block_elems` consecutive values of one row in `block_bytes` bytes; a row is whole blocks, end
to end. In: rows of checkpoint bytes. Out: their float32 values, bit for bit those of gguf-py's dequantize for
every pattern of bits (NaN and infinite scales included; what a sum or product of NaNs looks like is numpy's
and the processor's choice, and so the same for both on one machine). `encode` goes the other way, to the same
bytes as gguf-py's quantize. The C++ half of a format reads the same geometry and tables from the header that
`tables` writes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lane.errors import UsageError
from lane.quant.table import Table

Bytes = NDArray[np.uint8]
Values = NDArray[np.float32]
Blocks = NDArray[np.void]  # a block each, its fields by name

# Values decoded at a time: few enough that a slab's temporaries stay in the second-level cache, enough that
# the cost of a numpy call is spread over them.
SLAB_ELEMS = 1 << 15


@dataclass(frozen=True)
class Format:
    """One quant format.

    `layout` is the block as its fields lie in the file (little-endian, unpadded). `decode_blocks` takes n
    blocks to (n, block_elems) values and `encode_blocks`, where the format has a quantiser, takes them back.
    `tables` are the constants that the meaning of the bits depends on.
    """

    name: str
    type_id: int  # ggml's number for the type, as a GGUF file gives it
    block_elems: int
    layout: np.dtype[np.void]
    decode_blocks: Callable[[Blocks], Values]
    encode_blocks: Callable[[Values], Blocks] | None = None
    tables: tuple[Table, ...] = ()

    @property
    def block_bytes(self) -> int:
        return self.layout.itemsize

    def bytes_of(self, elems: int) -> int:
        """The bytes of `elems` values, which are whole blocks: of a row, of whole rows."""
        return elems // self.block_elems * self.block_bytes

    def decode(self, rows: Bytes) -> Values:
        """(rows, row_bytes) bytes as (rows, cols) float32 values; UsageError if a row is not whole blocks."""
        if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] % self.block_bytes:
            raise UsageError(
                f"quant: decode {self.name}: found {rows.dtype} {rows.shape}, "
                f"allowed uint8 (rows, a multiple of {self.block_bytes} bytes)"
            )
        count, per_row = rows.shape[0], rows.shape[1] // self.block_bytes
        blocks = np.ascontiguousarray(rows).reshape(-1).view(self.layout)
        values = np.empty((count * per_row, self.block_elems), np.float32)
        # A block with an infinite or NaN scale is decoded like any other: what it yields is not an incident.
        with np.errstate(all="ignore"):
            for slab in self._slabs(len(blocks)):
                values[slab] = self.decode_blocks(blocks[slab])
        return values.reshape(count, per_row * self.block_elems)

    def encode(self, values: Values) -> Bytes:
        """(rows, cols) float32 values as (rows, row_bytes) bytes.

        UsageError if the format has no quantiser, a row is not whole blocks, or (where values share a scale)
        a value is not finite or too large for the scale's type.
        """
        if self.encode_blocks is None:
            raise UsageError(f"quant: encode {self.name}: this format has no quantiser")
        if values.dtype != np.float32 or values.ndim != 2 or values.shape[1] % self.block_elems:
            raise UsageError(
                f"quant: encode {self.name}: found {values.dtype} {values.shape}, "
                f"allowed float32 (rows, a multiple of {self.block_elems} values)"
            )
        if self.block_elems > 1 and not np.isfinite(values).all():
            found = values[~np.isfinite(values)][0]
            raise UsageError(f"quant: encode {self.name}: found the value {found}, allowed finite values")
        count, per_row = values.shape[0], values.shape[1] // self.block_elems
        plain = np.ascontiguousarray(values).reshape(count * per_row, self.block_elems)
        blocks = np.empty(len(plain), self.layout)
        with np.errstate(all="ignore"):
            for slab in self._slabs(len(plain)):
                blocks[slab] = self.encode_blocks(plain[slab])
        self._check_scales(blocks, plain)
        return blocks.view(np.uint8).reshape(count, per_row * self.block_bytes)

    def _slabs(self, block_count: int) -> Iterator[slice]:
        step = max(1, SLAB_ELEMS // self.block_elems)
        return (slice(start, start + step) for start in range(0, block_count, step))

    def _check_scales(self, blocks: Blocks, values: Values) -> None:
        """A scale that overflowed f16 would make every value of its block infinite or NaN."""
        if self.block_elems == 1:
            return
        for field in self.layout.names or ():
            if self.layout[field] != np.float16:
                continue
            over = ~np.isfinite(blocks[field])
            if over.any():
                size = np.abs(values[over]).max()
                raise UsageError(
                    f"quant: encode {self.name}: found a value of size {size}, "
                    f"whose block's {field} overflows f16; "
                    f"allowed a {field} of at most {np.finfo(np.float16).max}"
                )
