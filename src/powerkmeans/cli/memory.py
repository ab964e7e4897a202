"""Whether a table fits in memory, and sizes in words."""

from __future__ import annotations

from powerkmeans.cli.errors import Exit, UserError
from powerkmeans.support.memory import available_memory


def check_room(n_bytes: int, what: str) -> None:
    """Reject what does not fit in memory before it is read."""
    free = available_memory()
    if free is not None and n_bytes > free:
        raise UserError(
            f"{what} takes {size(n_bytes)} in memory, and {size(free)} are free. Use fewer columns (--drop, "
            "--view) or --float32, or fit it block by block from Python: powerkmeans.open_source.",
            Exit.FAILED,
        )


def size(n_bytes: float) -> str:
    """Bytes in words: 512 B, 3.4 MB, 12 GB."""
    value, unit = float(n_bytes), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 99.5 else f"{value:.3g} {unit}"


def duration(seconds: float, digits: int = 1) -> str:
    """Seconds in words: 40 ms, 0.4 s, 12 s, 3 min 20 s, 2 h 5 min."""
    if seconds < 0.0995:
        return f"{max(1000 * seconds, 1):.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.{digits}f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
