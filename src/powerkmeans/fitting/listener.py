"""Who hears of a fit as it goes."""

from __future__ import annotations

from typing import Protocol

from powerkmeans.types import Iteration


class Listener(Protocol):
    """Told of every stage: its beginning, its iterations, its end.

    ``iteration`` returns True to stop the stage. ``note`` is for what is said once, ``done`` ends the fit.
    """

    def note(self, text: str) -> None: ...
    def begin(self, stage: str) -> None: ...
    def iteration(self, line: Iteration) -> bool: ...
    def end(self, text: str) -> None: ...
    def done(self, text: str) -> None: ...


class Silent:
    """Nobody."""

    def note(self, text: str) -> None:
        """Say nothing."""

    def begin(self, stage: str) -> None:
        """Say nothing."""

    def iteration(self, line: Iteration) -> bool:
        """Go on."""
        return False

    def end(self, text: str) -> None:
        """Say nothing."""

    def done(self, text: str) -> None:
        """Say nothing."""


SILENT = Silent()
