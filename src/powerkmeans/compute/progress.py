"""Who hears how far a pass over all rows is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from powerkmeans.types import T

# told the share of a pass that is done, and how many rows it goes over
Tell = Callable[[float, int], None]

_HEARING: ContextVar[Tell | None] = ContextVar("powerkmeans_rows", default=None)


@contextmanager
def hearing_rows(tell: Tell | None) -> Iterator[None]:
    """Let ``tell`` hear which share of a pass is done, of every pass inside."""
    token = _HEARING.set(tell)
    try:
        yield
    finally:
        _HEARING.reset(token)


def tell_share(done: int, of: int, n_rows: int) -> None:
    """Tell whoever hears that so many parts of a pass over so many rows are done."""
    tell = _HEARING.get()
    if tell is not None:
        tell(done / of, n_rows)


def counted(parts: Iterator[T], of: int, n_rows: int) -> Iterator[T]:
    """The same parts, of which it is told when each has come."""
    tell_share(0, of, n_rows)
    for number, part in enumerate(parts, 1):
        yield part
        tell_share(number, of, n_rows)
