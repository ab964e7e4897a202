"""Who hears of a fit as it goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from powerkmeans.compute.progress import hearing_rows
from powerkmeans.types import Iteration


class Listener(Protocol):
    """Told of every stage: its beginning, its iterations, its end.

    ``iteration`` returns True to stop the stage. ``rows`` tells which share of a pass over how many rows is done,
    ``note`` is for what is said once, ``done`` ends the fit, ``close`` comes last, also after an error.
    """

    def note(self, text: str) -> None: ...
    def begin(self, stage: str) -> None: ...
    def iteration(self, line: Iteration) -> bool: ...
    def rows(self, share: float, n_rows: int) -> None: ...
    def end(self, text: str) -> None: ...
    def done(self, text: str) -> None: ...
    def close(self) -> None: ...


class Silent:
    """Nobody."""

    def note(self, text: str) -> None:
        """Say nothing."""

    def begin(self, stage: str) -> None:
        """Say nothing."""

    def iteration(self, line: Iteration) -> bool:
        """Go on."""
        return False

    def rows(self, share: float, n_rows: int) -> None:
        """Say nothing."""

    def end(self, text: str) -> None:
        """Say nothing."""

    def done(self, text: str) -> None:
        """Say nothing."""

    def close(self) -> None:
        """Say nothing."""


SILENT = Silent()

_HEARING: ContextVar[Listener] = ContextVar("powerkmeans_hearing", default=SILENT)


@contextmanager
def hearing(listener: Listener) -> Iterator[None]:
    """Let ``listener`` hear of the parts of what runs inside."""
    token = _HEARING.set(listener)
    try:
        with hearing_rows(None if listener is SILENT else listener.rows):
            yield
    finally:
        _HEARING.reset(token)


def told(text: str) -> None:
    """Tell whoever hears what is said once."""
    _HEARING.get().note(text)


@contextmanager
def told_part(what: str) -> Iterator[None]:
    """A part of a fit that is no iteration, such as a pass over all rows: its seconds are told at its end.

    Whoever hears is not handed down to here: a time is nothing that any result may depend on.
    """
    start = time.perf_counter()
    yield
    told(f"{what}: {time.perf_counter() - start:.3g} s")
