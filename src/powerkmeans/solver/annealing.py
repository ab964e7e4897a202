"""Schedules of the exponent s, and the exponent at which clusters begin to separate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import brentq

from powerkmeans.types import Float64Array

# where the power mean is the minimum for all purposes, and a run that still has not separated may end
END_OF_ANNEALING = -200.0
# the start where the collapse is unstable at every exponent, so that no critical one exists
SMALLEST_START = 0.5
_LONGEST_ANNEALING = 60.0


class Schedule(Protocol):
    """The exponent at each iteration."""

    def __call__(self, iteration: int) -> float: ...
    def ended(self, iteration: int) -> bool:
        """Whether waiting longer cannot separate clusters any more."""
        ...

    def settles(self, iteration: int) -> bool:
        """Whether a state that stands still here may be taken for the end."""
        ...

    @property
    def window(self) -> int:
        """Over how many iterations nothing may change for the run to count as converged."""
        ...


@dataclass(frozen=True)
class Geometric:
    """``s = s_init * factor^(iteration // every)`` (paper: Alg. RFF-KPKM, step 6).

    Around the critical exponent centroids move slowly because nothing pulls them either way; a run may
    settle only once ``s`` is below ``settle_below``.
    """

    s_init: float
    factor: float = 1.04
    every: int = 2
    settle_below: float = 0.0

    def __call__(self, iteration: int) -> float:
        exponent = min(iteration // self.every * math.log(self.factor), _LONGEST_ANNEALING)
        return self.s_init * math.exp(exponent)

    def ended(self, iteration: int) -> bool:
        return self.factor == 1 or self(iteration) <= min(END_OF_ANNEALING, 2 * self.settle_below)

    def settles(self, iteration: int) -> bool:
        return self(iteration) <= self.settle_below

    @property
    def window(self) -> int:
        return 5 if self.factor == 1 else max(5, self.every + 1)


@dataclass(frozen=True)
class Hard:
    """``s = -inf`` throughout: (kernel) k-means, stopped by the first step that is small enough."""

    window: int = 1

    def __call__(self, iteration: int) -> float:
        return -math.inf

    def ended(self, iteration: int) -> bool:
        return True

    def settles(self, iteration: int) -> bool:
        return True


def growth_rate(s: float, sharp: Float64Array, flat: Float64Array, fuzziness: float) -> float:
    """Factor by which one iteration multiplies a small displacement from the collapsed point.

    Twice the largest eigenvalue of ``(1 - s) sharp + m/(m-1) flat`` (see ``objective.collapse``), where
    both matrices are already divided by the total pull.
    """
    matrix = (1 - s) * sharp + fuzziness / (fuzziness - 1) * flat
    return 2 * float(np.linalg.eigvalsh(matrix)[-1])


def critical_value(sharp: Float64Array, flat: Float64Array, fuzziness: float) -> float:
    """The exponent at which the collapsed point loses stability: ``growth_rate = 1``.

    0.0 if the collapse is unstable at every ``s < 0``.
    """
    if growth_rate(0.0, sharp, flat, fuzziness) >= 1:
        return 0.0
    if not np.any(flat):
        return 1 - 1 / growth_rate(0.0, sharp, flat, fuzziness)
    low = -1.0
    while growth_rate(low, sharp, flat, fuzziness) < 1:
        low *= 2
        if not math.isfinite(low) or low < -1e12:
            return low
    return float(brentq(lambda s: growth_rate(s, sharp, flat, fuzziness) - 1, low, 0.0, xtol=1e-9))
