"""Verdicts: from a share of draws, a slope or a largest value to one of three answers, and what decides."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

Floats = NDArray[np.float64]
Row = dict[str, Any]
# a share of draws counts as above or below what is required if an interval of this confidence says so
CONFIDENCE = 0.99
# a slope whose standard error is larger says nothing about the rate
LARGEST_ERROR = 0.1


class Outcome(enum.StrEnum):
    """What a measurement says about a statement."""

    HOLDS = "holds"
    FAILS = "does not hold here"
    OPEN = "cannot be told from this"


@dataclass(frozen=True)
class Verdict:
    """One answer. Those that do not count are of cases that the paper does not claim; the exit code skips them."""

    about: str
    outcome: Outcome
    number: str
    counts: bool = True

    def __str__(self) -> str:
        aside = "" if self.counts else " (beyond what is claimed)"
        return f"{self.about}: {self.outcome}{aside}; {self.number}"


class Table(NamedTuple):
    """A table with a line that says how to read it."""

    caption: str
    header: list[str]
    lines: list[list[str]]


@dataclass
class Statement:
    """One statement of the paper: what it claims, what was measured, and the verdicts."""

    key: str
    title: str
    claim: str
    tables: list[Table]
    verdicts: list[Verdict]


def of(rows: Sequence[Row], measured: str) -> list[Row]:
    """The rows of one measurement among those of all."""
    return [row for row in rows if row["measured"] == measured]


class Share(NamedTuple):
    """How many of some draws were within, how many had to be, and what that is a case of."""

    about: str
    inside: int
    draws: int
    required: float

    @property
    def bounds(self) -> tuple[float, float]:
        """The interval of Clopper and Pearson: what the true share may be, each side at ``CONFIDENCE``."""
        miss, outside = 1 - CONFIDENCE, self.draws - self.inside
        low = float(beta.ppf(miss, self.inside, outside + 1)) if self.inside else 0.0
        high = float(beta.ppf(1 - miss, self.inside + 1, outside)) if outside else 1.0
        return low, high

    @property
    def outcome(self) -> Outcome:
        low, high = self.bounds
        if low >= self.required:
            return Outcome.HOLDS
        return Outcome.FAILS if high < self.required else Outcome.OPEN

    @property
    def misses(self) -> float:
        """The share of draws that missed, over the share that may."""
        return (1 - self.inside / self.draws) / (1 - self.required)


def share_verdict(about: str, shares: Sequence[Share], *, counts: bool = True) -> Verdict:
    """The verdict on many cases: one failure fails all, and the case nearest to it decides."""
    if not shares:
        return Verdict(about, Outcome.OPEN, "nothing was measured", counts)
    order = (Outcome.FAILS, Outcome.OPEN, Outcome.HOLDS)
    worst = min(shares, key=lambda s: (order.index(s.outcome), -s.misses))
    low, high = worst.bounds
    alike = sum(s.outcome is worst.outcome for s in shares)
    among = f"all {alike}" if alike == len(shares) else f"{alike} of {len(shares)}"
    first = f"so in {among} cases; the worst, {worst.about}" if len(shares) > 1 else worst.about
    number = (
        f"{first}: {worst.inside} of {worst.draws} draws within = {worst.inside / worst.draws:.3f} "
        f"(99 % sure: {low:.3f} to {high:.3f}), {worst.required:g} required"
    )
    return Verdict(about, worst.outcome, number, counts)


class Slope(NamedTuple):
    """A straight line through logarithms, with the standard error of its slope."""

    slope: float
    error: float
    intercept: float

    def __str__(self) -> str:
        return f"{self.slope:.2f} ± {self.error:.2f}"

    def at(self, x: Floats) -> Floats:
        """The line, in the units of the data."""
        return np.exp(self.intercept + self.slope * np.log(x))


def fit_slope(x: Sequence[float], means: Sequence[float], errors: Sequence[float]) -> Slope:
    """Regress log mean on log x, each mean weighted by its standard error.

    The error of the slope is what the errors of the means make of it, or what the scatter about the line does,
    whichever is larger.
    """
    u, v = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(means, dtype=float))
    spread = np.asarray(errors, dtype=float) / np.asarray(means, dtype=float)
    weight = 1 / np.maximum(spread, 1e-12) ** 2
    center, level = np.average(u, weights=weight), np.average(v, weights=weight)
    total = float(np.sum(weight * (u - center) ** 2))
    slope = float(np.sum(weight * (u - center) * (v - level))) / total
    residual = v - level - slope * (u - center)
    excess = float(np.sum(weight * residual**2)) / max(len(u) - 2, 1)
    return Slope(slope, math.sqrt(max(1.0, excess) / total), level - slope * center)


def rate_verdict(about: str, slope: Slope, bound: float) -> Verdict:
    """Whether something falls at least as fast as ``x^bound``: slope at most the bound plus two errors.

    A slope that is only within its errors of the bound decides nothing if these are large.
    """
    number = f"slope {slope}, at most {bound:g} + 2 standard errors = {bound + 2 * slope.error:.2f} is claimed"
    if slope.slope - 2 * slope.error > bound:
        return Verdict(about, Outcome.FAILS, number)
    sure = slope.slope + 2 * slope.error <= bound
    return Verdict(about, Outcome.HOLDS if sure or slope.error <= LARGEST_ERROR else Outcome.OPEN, number)


def approach_verdict(about: str, values: Sequence[float], slope: Slope, share: float = 0.5) -> Verdict:
    """Whether values fall towards zero along a path: a slope below 0 by two errors, and the last value small.

    A limit cannot be seen; what is asked is that the last is at most ``share`` of the first.
    """
    last = values[-1] / values[0]
    number = f"from {values[0]:.3g} to {values[-1]:.3g} ({last:.2f} of it), slope {slope}"
    if slope.slope - 2 * slope.error > 0:
        return Verdict(about, Outcome.FAILS, number)
    falls = slope.slope + 2 * slope.error < 0 and last <= share
    return Verdict(about, Outcome.HOLDS if falls else Outcome.OPEN, number)


def most_verdict(about: str, value: float, most: float, number: str) -> Verdict:
    """Whether a largest value stays at or below what is allowed."""
    return Verdict(about, Outcome.HOLDS if value <= most else Outcome.FAILS, number)


def all_hold(verdicts: Sequence[Verdict]) -> bool:
    """Whether every verdict that counts holds."""
    return all(v.outcome is Outcome.HOLDS for v in verdicts if v.counts)
