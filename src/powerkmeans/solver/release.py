"""Rows that stay in a cluster because they are part of its mean, and what it saves to let go of them.

Steps of k-means leave a row where it is nearest. Among few rows of many dimensions that is hardly ever elsewhere:
each has drawn its own centroid near.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from powerkmeans.solver.holdings import Holdings, Measure, holdings
from powerkmeans.support.precision import ROUNDING
from powerkmeans.types import Array, Float64Array

_TINY = float(np.finfo(np.float64).tiny)


def release_rows(
    rows: Array, weight: Float64Array, centers: Float64Array, measure: Measure, margin: float
) -> Float64Array | None:
    """Return the means once rows that save by it have gone to their second nearest, one after the other.

    None if that saves less than ``margin`` of the cost.
    """
    if len(centers) < 2:
        return None
    held = holdings(rows, weight, centers, measure)
    clusters = _Clusters(centers.copy(), _masses(held), measure)
    saved = _savings(held, clusters.mass, weight)
    least, total = margin * float(weight @ held.cost), 0.0
    if float(np.sum(saved, where=saved > 0)) <= least:  # mostly: only in small clusters a row matters
        return None
    for row in np.argsort(-saved, kind="stable")[: np.count_nonzero(saved > 0)]:
        total += clusters.pass_on(rows[row], weight[row], [held.labels[row], held.heirs[row]])
    return clusters.centers if total > least else None


def _masses(held: Holdings) -> Float64Array:
    return np.bincount(held.labels, weights=held.pull, minlength=len(held.centers)).astype(np.float64)


def _savings(held: Holdings, mass: Float64Array, weight: Float64Array) -> Float64Array:
    """What each row would save by itself."""
    distance, pull = np.stack([held.nearest, held.second]), np.stack([held.pull, held.inherited])
    return _saved(distance, pull, mass[np.stack([held.labels, held.heirs])], weight * held.loss)


def _saved(distance: Float64Array, pull: Float64Array, mass: Float64Array, lost: Float64Array) -> Float64Array:
    """``p^2 d / (N - p) + q^2 e / (M + q) - lost``: what both means save by moving, less what the row loses.

    First comes what is of the owner (``d, p, N``), then what is of the heir (``e, q, M``). For plain k-means this
    is Hartigan's ``N d / (N - 1) - M e / (M + 1)``. A row by itself stays.
    """
    rest = mass[0] - pull[0]
    alone = rest <= ROUNDING * mass[0]
    owner = pull[0] ** 2 * distance[0] / np.where(alone, 1.0, rest)
    heir = pull[1] ** 2 * distance[1] / np.maximum(mass[1] + pull[1], _TINY)
    return np.where(alone, -np.inf, owner + heir - lost)


@dataclass(frozen=True)
class _Clusters:
    """Means and what they weigh, in place as rows change hands."""

    centers: Float64Array
    mass: Float64Array
    measure: Measure

    def pass_on(self, row: Array, weight: float, pair: list[int]) -> float:
        """Give a row of the first cluster to the second, if that saves; return how much."""
        offset = row - self.centers[pair]
        distance = np.vecdot(offset, offset)
        cost, pull = self.measure.cost(distance), weight * self.measure.pull(distance) * np.ones(2)
        saved = float(_saved(distance, pull, self.mass[pair], weight * (cost[1] - cost[0])))
        if saved <= 0:
            return 0.0
        change = pull * [-1.0, 1.0]
        self.mass[pair] += change
        self.centers[pair] += (change / self.mass[pair])[:, None] * offset
        return saved
