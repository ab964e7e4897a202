"""How far a fit is: reckoned from what it tells as it goes."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from typing import NamedTuple

from powerkmeans.types import Iteration

_RUN = re.compile(r"run (\d+) of (\d+)")
_ANNEALED = re.compile(r"annealing on (\d+) rows")
# iterations that a run and the steps on all rows take, about, to weigh one against the other
_RUN_ITERATIONS, _FINISH_ITERATIONS = 70, 12
# where the annealing hands over to k-means: this exponent, or that many times the first one
_LAST_EXPONENT, _LAST_FACTOR = 15.0, 6.0
# no time left is told before so many seconds, nor before that share of the work
_GUESS_AFTER, _GUESS_FROM = 1.0, 0.08


class Progress(NamedTuple):
    """How far a fit is.

    stage : what is being done, in words
    iteration : of this stage, counted from 1; 0 before the first
    share : of the whole fit that is done, about, in [0, 1]; it never falls
    rows_per_second : of the last iteration, or of the pass that is under way; NaN before there was one
    seconds_left : about; None while it cannot be told
    objective : what the last iteration saw; NaN before there was one
    """

    stage: str
    iteration: int
    share: float
    rows_per_second: float
    seconds_left: float | None
    objective: float


class Reckoner:
    """A listener that tells how far a fit is, each time that it hears of it.

    The annealing ends where k-means takes over, so a run is as far as the logarithm of its exponent is on the way
    there; runs on a sample and steps on all rows count by the rows that they read.
    """

    def __init__(self, tell: Callable[[Progress], None], n_samples: int) -> None:
        self._tell, self._n_samples, self._annealed = tell, n_samples, n_samples
        self._run, self._n_runs, self.stage = 0, 1, ""
        self.iterations, self._first, self.share = 0, math.nan, 0.0
        self._begun = self._heard = self._pass_begun = time.perf_counter()
        self._speed = self._objective = math.nan

    def note(self, text: str) -> None:
        found = _ANNEALED.match(text)
        if found:
            self._annealed = int(found[1])
        self._heard = time.perf_counter()

    def begin(self, stage: str) -> None:
        found = _RUN.match(stage)
        if not self.stage:  # what came before was another kind of work
            self._begun = time.perf_counter()
        self.stage, self.iterations, self._first = stage.partition(":")[0], 0, math.nan
        if found:
            self._run, self._n_runs = int(found[1]) - 1, int(found[2])
        else:
            self._run = self._n_runs
        self._heard = time.perf_counter()

    def iteration(self, line: Iteration) -> bool:
        self.iterations += 1
        self._first = line.s if math.isnan(self._first) else self._first
        self.share = max(self.share, self._done(line.s))  # a bar never goes back
        now = time.perf_counter()
        self._speed, self._objective, self._heard = (
            self._rows() / max(now - self._heard, 1e-9),
            line.objective,
            now,
        )
        self._say(now)
        return False

    def rows(self, share: float, n_rows: int) -> None:
        """Part of a pass is done; told of passes over all rows that take their time."""
        now = time.perf_counter()
        if share == 0 or n_rows < self._n_samples:
            self._pass_begun = now
        elif now - self._heard > _GUESS_AFTER:
            self._speed = share * n_rows / max(now - self._pass_begun, 1e-9)
            self._say(now)

    def end(self, text: str) -> None:
        self._heard = time.perf_counter()

    def done(self, text: str) -> None:
        self.share, self.stage, self.iterations = 1.0, "finishing", 0
        self._say(time.perf_counter())

    def close(self) -> None:
        """Say nothing more."""

    def _say(self, now: float) -> None:
        elapsed, left = now - self._begun, None
        if elapsed >= _GUESS_AFTER and self.share >= _GUESS_FROM:
            left = elapsed * (1 - self.share) / self.share
        self._tell(
            Progress(self.stage or "preparing", self.iterations, self.share, self._speed, left, self._objective)
        )

    def _rows(self) -> int:
        """Rows of a pass of this stage."""
        return self._annealed if self._run < self._n_runs else self._n_samples

    def _done(self, s: float) -> float:
        """The share of the whole fit that is done, by the rows that were read and will be."""
        one = _RUN_ITERATIONS * self._annealed
        rest = _FINISH_ITERATIONS * self._n_samples
        if self._run < self._n_runs:
            done = (self._run + self._of_run(s)) * one
        else:
            done = self._n_runs * one + rest * self.iterations / (self.iterations + _FINISH_ITERATIONS / 2)
        return done / (self._n_runs * one + rest)

    def _of_run(self, s: float) -> float:
        """How far a run is by its exponent; by its iterations where that does not move."""
        if not math.isfinite(s):
            return 0.95
        last = max(_LAST_EXPONENT, _LAST_FACTOR * abs(self._first))
        way = math.log(last / abs(self._first))
        by_exponent = math.log(max(s / self._first, 1.0)) / way if way > 0 else 0.0
        return min(0.95, max(by_exponent, self.iterations / (4 * _RUN_ITERATIONS)))
