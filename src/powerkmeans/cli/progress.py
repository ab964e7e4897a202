"""Bars for what takes longer than a moment, and what a fit tells of itself put on one."""

from __future__ import annotations

import math
import threading
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from powerkmeans.cli.memory import duration
from powerkmeans.fitting.progress import Reckoner
from powerkmeans.support.escapes import printable
from powerkmeans.types import Iteration

# nothing is shown before this many seconds; no time left before that many, nor before that share of the work
_PATIENCE, _GUESS_AFTER, _GUESS_FROM = 0.4, 1.0, 0.08
# titles are padded to this, so that bars stand below each other
_TITLE = 10


class Bar:
    """One line on stderr that is gone when the work is done."""

    def __init__(self, title: str, console: Console, what: str = "", *, shown: bool) -> None:
        self._what = what
        self._title, self._shown = title.ljust(_TITLE), shown
        self._born = self._begun = time.perf_counter()
        columns = (
            TextColumn("[bold]{task.description}"),
            BarColumn(26, style="bright_black", complete_style="cyan", finished_style="cyan", pulse_style="cyan"),
            TextColumn("[dim]{task.fields[about]}"),
            TextColumn("[cyan]{task.fields[left]}"),
        )
        self._progress = Progress(*columns, console=console, transient=True, refresh_per_second=8)
        self._task: TaskID | None = None
        self._lock, self._timer = threading.RLock(), threading.Timer(_PATIENCE, lambda: None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._shown = False
            if self._task is not None:
                self._progress.stop()

    def update(self, share: float, about: str = "") -> None:
        """Tell how far the work is, in [0, 1]."""
        now = time.perf_counter()
        if self._shown and now - self._born >= _PATIENCE:
            elapsed = now - self._begun
            guess = share >= _GUESS_FROM and elapsed >= _GUESS_AFTER
            self._draw(share, about, _left(elapsed, share) if guess else "")

    def wait(self, about: str = "") -> Self:
        """Something is going on that does not tell how far it is; shown if it takes longer than a moment."""
        if self._shown:
            self._timer.cancel()
            self._timer = threading.Timer(_PATIENCE, self._draw, (None, about, ""))
            self._timer.daemon = True
            self._timer.start()
        return self

    def start_clock(self) -> None:
        """Reckon the time left from now on: what came before was another kind of work."""
        self._timer.cancel()
        self._begun = time.perf_counter()

    def _draw(self, share: float | None, about: str, left: str) -> None:
        with self._lock:
            if self._shown:
                self._draw_locked(share, about, left)

    def _draw_locked(self, share: float | None, about: str, left: str) -> None:
        total = None if share is None else 1.0
        if self._task is None:
            self._progress.start()
            self._task = self._progress.add_task(self._title, total=total, about="", left="")
        about = escape(printable(", ".join(part for part in (self._what, about) if part)))
        completed = None if share is None else min(share, 1.0)
        self._progress.update(self._task, total=total, completed=completed, about=about, left=left)


def _left(elapsed: float, share: float) -> str:
    seconds = elapsed * (1 - share) / share
    return f"about {duration(max(1, round(seconds)), digits=0)} left" if seconds >= 0.5 else ""


class FitListener(Reckoner):
    """Puts a fit on a bar: which run, which iteration, exponent, objective, and about how long it will take."""

    def __init__(self, bar: Bar, n_samples: int) -> None:
        super().__init__(lambda progress: None, n_samples)
        self._bar = bar

    def begin(self, stage: str) -> None:
        if not self.stage:
            self._bar.start_clock()
        super().begin(stage)

    def iteration(self, line: Iteration) -> bool:
        super().iteration(line)
        exponent = f"s {line.s:.3g}" if math.isfinite(line.s) else "k-means"
        about = f"{self.stage}, iteration {self.iterations}, {exponent}, objective {line.objective:.5g}"
        self._bar.update(self.share, about)
        return False
