"""How the command line words quantities, and reads words of the user's."""

from __future__ import annotations

from lane.errors import UsageError

_UNITS = ("B", "kB", "MB", "GB", "TB")


def bytes_text(count: float) -> str:
    """Bytes to three digits or so, in powers of a thousand: `98.4 MB`."""
    unit = 0
    while count >= 1000 and unit + 1 < len(_UNITS):
        count, unit = count / 1000, unit + 1
    return f"{count:.0f} B" if unit == 0 else f"{count:.1f} {_UNITS[unit]}"


def count_text(count: int) -> str:
    """A count to three digits or so: `134.5 M`."""
    for size, unit in ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return str(count)


def rate_text(count: int, seconds: float) -> str:
    """Tokens a second."""
    return f"{count / seconds:.1f} tok/s" if seconds > 0 else "- tok/s"


def table_text(rows: list[list[str]], numbers: frozenset[int] = frozenset(), indent: str = "  ") -> str:
    """Rows as aligned columns two spaces apart; columns in `numbers` are aligned right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    lines = []
    for row in rows:
        cells = [c.rjust(w) if i in numbers else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append((indent + "  ".join(cells)).rstrip())
    return "\n".join(lines)


def decoded(raw: bytes, what: str) -> str:
    """A text that the user gave, without the mark of byte order that some editors begin one with; UsageError with the
    place of the first byte that is not UTF-8."""
    try:
        return raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise UsageError(f"run: {what}: byte {error.start} is 0x{raw[error.start]:02x}, allowed UTF-8") from None
