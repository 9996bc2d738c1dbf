"""The kernel call: what a launch becomes on a device of kernels, as data.

Enters: a kernel's name, template arguments, geometry and arguments. Leaves: one record that the emitter prints, the
emulator runs, the profiler names and the traffic model counts. Promise: nothing formats a call anywhere else.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pointer:
    """An address that a call is given: `offset_bytes` into one array (`part`) of a buffer; no buffer: null."""

    buffer: str | None
    part: str = "plain"
    offset_bytes: int = 0


NULL = Pointer(None)

Argument = Pointer | int | float | bool


@dataclass(frozen=True, slots=True)
class Call:
    """One kernel launch.

    `template` holds the C++ template arguments as text; `args` the fields of the kernel's argument struct in order;
    blocks are one-dimensional, of `block` threads; `shared_bytes` is all of a block's shared memory.
    """

    kernel: str
    template: tuple[str, ...]
    grid: tuple[int, int, int]
    block: int
    shared_bytes: int
    args: tuple[tuple[str, Argument], ...]

    @property
    def instance(self) -> str:
        """The kernel with its template arguments, as C++ names it."""
        return f"{self.kernel}<{', '.join(self.template)}>" if self.template else self.kernel

    @property
    def args_type(self) -> str:
        """The name of the kernel's argument struct: `lk_gemv_blk` takes a `GemvBlkArgs`."""
        return "".join(word.capitalize() for word in self.kernel.removeprefix("lk_").split("_")) + "Args"
