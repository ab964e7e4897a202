"""Theorem 1 (theorem: theorem1): the excess risk falls at least as fast as n^(-1/2).

It says: with ``D = Omega(n d log(n / (k delta)) / k)`` frequencies, with probability at least ``1 - delta``,
``E L_s(W_n, rho) - inf_W L_s(W, rho) <= O(sqrt(k^(3 - 2/s) / n))``. W_n minimises the empirical objective in the
features; its risk ``L_s`` is that of the same weights of the same samples in the exact kernel.

Tested: rho is uniform on a few thousand points (see ``population``), so that risks carry no sampling error.
Samples of n are drawn from it with replacement, D is what the theorem asks with its constant at one and delta =
1/2, W_n is the best of three descents at fixed s (one from the population's optimum, two from k-means++), and the
infimum is the best known: that of the whole population. The mean excess over repeats, each with a sample and
features of its own, is regressed on n in logarithms. An upper bound holds if the slope is at most -1/2; a steeper
one is no contradiction. Beside it: the exact kernel, and the fixed size of our default, which the theorem does not
cover: W_n is then not unique and need not converge.

Not tested: the constant, the power of k, other distributions, and that W_n is a global minimiser.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.theorems.population import (
    Index,
    Population,
    blobs,
    features_gram,
    minimiser,
    rectangle,
    shares,
)
from benchmarks.theorems.sets import Plan
from benchmarks.theorems.verdicts import Floats, Row, Slope, Statement, Table, Verdict, fit_slope, of, rate_verdict
from powerkmeans import suggest_n_components

DELTA, BOUND = 0.5, -0.5
EXACT, ASKED, FIXED = "exact kernel", "D as asked", "D by default"
SETTINGS: tuple[tuple[Callable[[int], Population], float], ...] = (
    (blobs, -3.0),
    (blobs, -10.0),
    (rectangle, -3.0),
)
REPEATS = {32: 40, 64: 40, 128: 40, 256: 24, 512: 12, 1024: 8}
QUICK = {16: 10, 32: 10, 64: 10, 128: 8}


def size_asked(n: int, d: int, k: int) -> int:
    """``n d log(n / (k delta)) / k``."""
    return max(1, math.ceil(n * d * math.log(n / (k * DELTA)) / k))


@dataclass(frozen=True)
class Target:
    """A population at one exponent, with its best known weights and risk."""

    population: Population
    s: float
    pulls: Floats
    risk: float

    @classmethod
    def of(cls, population: Population, s: float) -> Target:
        W, risk = population.optimum(s)
        everyone = np.arange(len(population.X))
        return cls(population, s, shares(population.distances(everyone, W), s), risk)

    def excess(self, rows: Index, gram: Floats, seed: int) -> float:
        """The excess risk of what minimises the empirical objective for a kernel matrix of a sample."""
        start = self.pulls[rows].T
        starts = [start / np.sum(start, axis=1, keepdims=True), "k-means++", "k-means++"]
        W = minimiser(gram, self.population.k, self.s, starts, (seed, seed, seed + 1))
        return self.population.risk(rows, W, self.s) - self.risk


def measure_size(target: Target, n: int, repeats: int, rng: np.random.Generator) -> Row:
    """Excess risks of samples of n rows, with the exact kernel and both sizes of the features."""
    population = target.population
    d, default = population.X.shape[1], suggest_n_components(population.k)
    sizes = {ASKED: size_asked(n, d, population.k), FIXED: default}
    excess: dict[str, list[float]] = {EXACT: [], ASKED: [], FIXED: []}
    for repeat in range(repeats):
        rows = rng.integers(len(population.X), size=n)
        excess[EXACT].append(target.excess(rows, population.gram[np.ix_(rows, rows)], repeat))
        for name, D in sizes.items():
            gram = features_gram(population.X[rows], population.bandwidth, D, rng)
            excess[name].append(target.excess(rows, gram, repeat))
    return {
        "measured": "excess risk",
        "data": population.name,
        "k": population.k,
        "d": d,
        "s": target.s,
        "n": n,
        "D": sizes[ASKED],
        "default_D": default,
        "optimum": target.risk,
        "repeats": repeats,
        "rate": math.sqrt(population.k ** (3 - 2 / target.s) / n),
        "excess": excess,
    }


def mean_error(values: list[float]) -> tuple[float, float]:
    """Mean and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(len(values)))


def slope_of(rows: list[Row], name: str) -> Slope:
    """The slope of the mean excess in n; relative deviations are pooled, as few repeats tell little of theirs."""
    means = [float(np.mean(row["excess"][name])) for row in rows]
    spreads = [np.var(row["excess"][name], ddof=1) / m**2 for row, m in zip(rows, means, strict=True)]
    relative = math.sqrt(float(np.mean(spreads)))
    errors = [m * relative / math.sqrt(row["repeats"]) for row, m in zip(rows, means, strict=True)]
    return fit_slope([row["n"] for row in rows], means, errors)


def groups(rows: list[Row]) -> dict[tuple[str, float], list[Row]]:
    """Rows of one population and exponent together."""
    found: dict[tuple[str, float], list[Row]] = {}
    for row in rows:
        found.setdefault((row["data"], row["s"]), []).append(row)
    return found


def measure(plan: Plan) -> list[Row]:
    """All settings, all sizes."""
    rng = np.random.default_rng(1)
    n_points, repeats = plan.pick(2500, 400), plan.pick(REPEATS, QUICK)
    rows = []
    for make, s in plan.pick(SETTINGS, SETTINGS[:1]):
        target = Target.of(make(n_points), s)
        rows += [measure_size(target, n, count, rng) for n, count in repeats.items()]
    return rows


def judge(rows: list[Row]) -> Statement:
    """What the rows say."""
    rows = of(rows, "excess risk")
    return Statement(
        "excess_risk",
        "Theorem 1, excess risk",
        "With D >= n d log(n/(k delta))/k frequencies, the expected objective of what minimises the empirical one "
        "in the features exceeds the least possible by at most a constant times sqrt(k^(3-2/s)/n) "
        "(theorem: theorem1).",
        [_slopes_table(rows), _sizes_table(rows)],
        _verdicts(rows),
    )


def _verdicts(rows: list[Row]) -> list[Verdict]:
    return [
        rate_verdict(f"{data}, s = {s:g}", slope_of(mine, ASKED), BOUND)
        for (data, s), mine in groups(rows).items()
    ]


def _slopes_table(rows: list[Row]) -> Table:
    lines = []
    for (data, s), mine in groups(rows).items():
        slopes = [str(slope_of(mine, name)) for name in (ASKED, EXACT, FIXED)]
        most = max(np.mean(row["excess"][ASKED]) / row["rate"] for row in mine)
        smallest = min(min(row["excess"][name]) for row in mine for name in (EXACT, ASKED, FIXED))
        lines.append([data, f"{s:g}", *slopes, f"{most:.3f}", f"{smallest:.1e}"])
    caption = (
        "Slope of the mean excess risk in n, in logarithms, ± its standard error; the largest ratio of the excess "
        "to sqrt(k^(3-2/s)/n); and the smallest excess of a single fit, not negative if the optimum is one."
    )
    header = ["population", "s", ASKED, EXACT, FIXED, "excess / rate, at most", "smallest excess"]
    return Table(caption, header, lines)


def _sizes_table(rows: list[Row]) -> Table:
    lines = []
    for row in rows:
        cells = ["{:.2e} ± {:.0e}".format(*mean_error(row["excess"][name])) for name in (EXACT, ASKED, FIXED)]
        sizes = [str(row["n"]), str(row["D"]), str(row["repeats"])]
        lines.append([row["data"], f"{row['s']:g}", *sizes, *cells, f"{row['optimum']:.4f}"])
    header = ["population", "s", "n", "D asked", "repeats", EXACT, ASKED, FIXED, "least risk"]
    return Table("Mean excess risk ± its standard error.", header, lines)
