"""Bars for what takes longer than a moment, and what a fit tells of itself put on one."""

from __future__ import annotations

import math
import re
import threading
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from powerkmeans.cli.memory import duration
from powerkmeans.support.escapes import printable
from powerkmeans.types import Iteration

# nothing is shown before this many seconds; no time left before that many, nor before that share of the work
_PATIENCE, _GUESS_AFTER, _GUESS_FROM = 0.4, 1.0, 0.08
# titles are padded to this, so that bars stand below each other
_TITLE = 10
_RUN = re.compile(r"run (\d+) of (\d+)")
_ANNEALED = re.compile(r"annealing on (\d+) rows")
# iterations that a run and the steps on all rows take, about, to weigh one against the other
_RUN_ITERATIONS, _FINISH_ITERATIONS = 70, 12
# where the annealing hands over to k-means: this exponent, or that many times the first one
_LAST_EXPONENT, _LAST_FACTOR = 15.0, 6.0


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


class FitListener:
    """Puts a fit on a bar: which run, which iteration, exponent, objective, and about how long it will take.

    The annealing ends where k-means takes over, so a run is as far as the logarithm of its exponent is on the way
    there; runs on a sample and steps on all rows count by the rows that they read.
    """

    def __init__(self, bar: Bar, n_samples: int) -> None:
        self._bar, self._n_samples, self._annealed = bar, n_samples, n_samples
        self._run, self._n_runs, self._stage = 0, 1, ""
        self._iteration, self._first = 0, math.nan
        self._share = 0.0

    def note(self, text: str) -> None:
        found = _ANNEALED.match(text)
        if found:
            self._annealed = int(found[1])

    def begin(self, stage: str) -> None:
        found = _RUN.match(stage)
        if not self._stage:
            self._bar.start_clock()
        self._stage, self._iteration, self._first = stage.partition(":")[0], 0, math.nan
        if found:
            self._run, self._n_runs = int(found[1]) - 1, int(found[2])
        else:
            self._run = self._n_runs

    def iteration(self, line: Iteration) -> bool:
        self._iteration += 1
        self._first = line.s if math.isnan(self._first) else self._first
        exponent = f"s {line.s:.3g}" if math.isfinite(line.s) else "k-means"
        about = f"{self._stage}, iteration {self._iteration}, {exponent}, objective {line.objective:.5g}"
        self._share = max(self._share, self._done(line.s))  # a bar never goes back
        self._bar.update(self._share, about)
        return False

    def end(self, text: str) -> None:
        pass

    def done(self, text: str) -> None:
        pass

    def _done(self, s: float) -> float:
        """The share of the whole fit that is done, by the rows that were read and will be."""
        one = _RUN_ITERATIONS * self._annealed
        rest = _FINISH_ITERATIONS * self._n_samples
        if self._run < self._n_runs:
            done = (self._run + self._of_run(s)) * one
        else:
            done = self._n_runs * one + rest * self._iteration / (self._iteration + _FINISH_ITERATIONS / 2)
        return done / (self._n_runs * one + rest)

    def _of_run(self, s: float) -> float:
        """How far a run is by its exponent; by its iterations where that does not move."""
        if not math.isfinite(s):
            return 0.95
        last = max(_LAST_EXPONENT, _LAST_FACTOR * abs(self._first))
        way = math.log(last / abs(self._first))
        by_exponent = math.log(max(s / self._first, 1.0)) / way if way > 0 else 0.0
        return min(0.95, max(by_exponent, self._iteration / (4 * _RUN_ITERATIONS)))
