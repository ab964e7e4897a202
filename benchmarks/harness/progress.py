"""How far a long run is, on stderr."""

from __future__ import annotations

import sys
import time
from typing import TextIO

_WIDTH = 30
_QUIET_SECONDS = 60


def clock(seconds: float) -> str:
    """Seconds as h:mm:ss."""
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


class Progress:
    """A bar with done, total and time left on a terminal; elsewhere a line per minute."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self.total, self.done, self.worked = total, 0, 0
        self._stream = stream or sys.stderr
        self._start = self._last = time.monotonic()

    def skip(self, fits: int = 1) -> None:
        """So many fits need not be run."""
        self.done += fits

    def step(self, about: str) -> None:
        """One more fit was run."""
        self.done, self.worked = self.done + 1, self.worked + 1
        self.show(about)

    def show(self, about: str) -> None:
        now = time.monotonic()
        terminal = self._stream.isatty()
        if not terminal and now - self._last < _QUIET_SECONDS:
            return
        self._last = now
        left = (now - self._start) / max(self.worked, 1) * (self.total - self.done)
        text = f"{self.done}/{self.total} fits, about {clock(left)} left, {about}"
        if terminal:
            filled = _WIDTH * self.done // max(self.total, 1)
            text = f"\r[{'#' * filled}{'.' * (_WIDTH - filled)}] {text}\x1b[K"
        self._stream.write(text if terminal else text + "\n")
        self._stream.flush()

    def line(self, text: str) -> None:
        """A line that stays, above the bar."""
        self._stream.write(f"\r\x1b[K{text}\n" if self._stream.isatty() else f"{text}\n")
        self._stream.flush()

    def close(self) -> None:
        if self._stream.isatty():
            self._stream.write("\n")
            self._stream.flush()
