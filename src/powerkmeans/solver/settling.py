"""Whether a run has settled: the last iterations, and what they say."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from powerkmeans.solver.schedules import Pace, Phase
from powerkmeans.support.precision import ROUNDING
from powerkmeans.types import Float64Array

# a spread below this share of the scatter leaves nothing to explain
NEGLIGIBLE = 1e-14
# a squared length below this share of the scatter is rounding
STILL = ROUNDING**2


class Step(NamedTuple):
    """What one iteration did.

    sizes : of the clusters
    moved : the largest squared step of a centroid, before relaxation
    spread : mean squared distance to the nearest centroid
    """

    sizes: Float64Array
    moved: float
    spread: float

    def explains_all(self, tol: float, scatter: float) -> bool:
        """Whether centroids stand still and nothing of the scatter is left."""
        still = self.moved <= max(tol * self.spread, STILL * scatter)
        return still and self.spread <= NEGLIGIBLE * scatter


class Settling:
    """The iterations of a window, and how many there were before."""

    def __init__(self, window: int, recent: tuple[Step, ...] = (), done: int = 0) -> None:
        self._recent: deque[Step] = deque(recent, maxlen=window)
        self._window, self._done = window, done

    @property
    def recent(self) -> tuple[Step, ...]:
        """The iterations of the window."""
        return tuple(self._recent)

    def add(self, step: Step) -> None:
        """Take in an iteration."""
        self._recent.append(step)
        self._done += 1

    @property
    def pace(self) -> Pace:
        """What the schedule goes by."""
        last = self._recent[-1]
        growing = len(self._recent) > 1 and last.moved > self._recent[-2].moved
        return Pace(self._done, last.moved / last.spread if last.spread > 0 else 0.0, growing)

    def ends(self, phase: Phase, tol: float) -> bool:
        """Whether centroids that move as these did end a run in such a phase."""
        if phase in (Phase.WAITING, Phase.HAND_OVER):
            return False
        return self.settled(tol) or (phase is Phase.ENDED and self._recent[-1].moved == 0)

    def settled(self, tol: float) -> bool:
        """Whether sizes stand still and steps are small and not growing, over the window."""
        if len(self._recent) < self._window:
            return False
        first, last, moved = self._recent[0], self._recent[-1], [step.moved for step in self._recent]
        growing = len(moved) > 1 and moved[-1] > max(moved[:-1])
        if growing or not max(moved) <= tol * last.spread:
            return False
        return all(np.array_equal(step.sizes, first.sizes) for step in self._recent)
