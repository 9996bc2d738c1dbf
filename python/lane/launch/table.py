"""How a form's buffers reach a runtime: one row of 64-bit words a buffer.

A row's columns: the space its bytes lie in, its element type, its length in elements, then the byte offset of each
array it has (-1: it has none): plain values; words, second words and scales of the quantised form. In the space MATRIX
the column `plain` is the index of a matrix, in EXTERNAL that of an array that the caller binds for the run.
"""

from __future__ import annotations

import enum


class Space(enum.Enum):
    """Where a buffer's bytes lie."""

    ARENA = "arena"  # step-local, overlaid by lifetime
    POOL = "pool"  # lives across steps, one for all sequences: constants
    STATE = "state"  # lives across steps, one for each sequence: carried state, parameters, logits
    MATRIX = "matrix"  # checkpoint rows
    EXTERNAL = "external"  # bound by the caller, run by run


class Elem(enum.Enum):
    """Element types of a plain array."""

    F32 = "f32"
    I32 = "i32"
    F16 = "f16"
    BF16 = "bf16"


ELEM_BYTES = {Elem.F32: 4, Elem.I32: 4, Elem.F16: 2, Elem.BF16: 2}

COLUMNS = ("space", "elem", "length", "plain", "words", "second", "scales")

ALIGNMENT_BYTES = 64  # of every array in the arena and the pool: a cache line
