"""Schedules of the exponent s: which ones a run goes through, and where it may end."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

# where the power mean is the minimum for all purposes, and a run that still has not separated may end
END_OF_ANNEALING = -200.0
# no run starts nearer to zero: where the collapse is unstable at every exponent there is no critical one
SMALLEST_START = 0.5
# what log |s| may grow by, so that powers stay in the range of numbers
_LONGEST_ANNEALING = 60.0
# a squared length below this share of the spread within clusters is nothing: a step that moves no centroid, a
# distance between centroids that have not separated
QUIET = 1e-4
# steps of the exponent at once where no centroid moves
HASTE = 3


class Pace(NamedTuple):
    """What a schedule may go by.

    done : iterations so far
    moved : the largest squared step, over the spread within clusters
    growing : whether that step was longer than the one before
    """

    done: int
    moved: float
    growing: bool


class Phase(enum.Enum):
    """What it takes for a run to end at an exponent."""

    WAITING = "nothing ends it"
    MAY_SETTLE = "centroids that stand still end it"
    ENDED = "centroids that stand still end it, and so does a single iteration that moves nothing"
    HAND_OVER = "it ends here: weights are so hard that k-means may do the rest"


class Schedule(Protocol):
    """Which exponents a run goes through, and where it may end."""

    @property
    def s_init(self) -> float: ...
    def after(self, s: float, pace: Pace) -> float:
        """The exponent of the next iteration."""
        ...

    def phase(self, s: float, apart: bool) -> Phase:
        """What ends a run at this exponent, whose centroids are all apart or not."""
        ...

    @property
    def window(self) -> int:
        """Over how many iterations nothing may change for the run to count as converged."""
        ...

    @property
    def relaxation(self) -> float:
        """What multiplies each step of the centroids, below 2."""
        ...


@dataclass(frozen=True)
class Geometric:
    """``s = s_init * factor^(iteration // every)`` (paper: Alg. RFF-KPKM, step 6).

    Around the critical exponent centroids move slowly because nothing pulls them either way; a run may
    settle only once ``s`` is below ``settle_below``, and need not once it is below ``hand_over``. Centroids
    that are together have to be waited for, until waiting longer cannot part them.
    """

    s_init: float
    factor: float = 1.04
    every: int = 2
    settle_below: float = 0.0
    hand_over: float = -math.inf
    relaxation: float = 1.0

    def after(self, s: float, pace: Pace) -> float:
        exponent = min(pace.done // self.every * math.log(self.factor), _LONGEST_ANNEALING)
        return self.s_init * math.exp(exponent)

    def phase(self, s: float, apart: bool) -> Phase:
        if apart and s <= self.hand_over:
            return Phase.HAND_OVER
        if self.factor == 1 or s <= min(END_OF_ANNEALING, 2 * self.settle_below):
            return Phase.ENDED
        return Phase.MAY_SETTLE if apart and s <= self.settle_below else Phase.WAITING

    @property
    def window(self) -> int:
        return 5 if self.factor == 1 else max(5, self.every + 1)


@dataclass(frozen=True)
class Unfolding(Geometric):
    """``s`` grows by ``factor`` per iteration; not at all while clusters separate, faster where nothing moves.

    Separation begins as a displacement that each iteration multiplies: steps that grow. The schedule waits for
    it to run its course, and is three steps quicker where the largest one is negligible.
    """

    every: int = 1

    def after(self, s: float, pace: Pace) -> float:
        if self.factor == 1 or pace.growing:
            return s
        longest = math.exp(_LONGEST_ANNEALING)
        faster = min(self.factor, longest) ** (HASTE if pace.moved < QUIET else 1)
        return max(s * faster, self.s_init * longest)


@dataclass(frozen=True)
class Hard:
    """``s = -inf`` throughout: (kernel) k-means, stopped by the first step that is small enough."""

    s_init: float = -math.inf
    window: int = 1
    relaxation: float = 1.0

    def after(self, s: float, pace: Pace) -> float:
        return -math.inf

    def phase(self, s: float, apart: bool) -> Phase:
        return Phase.ENDED
