"""Starts: a small cloud around the collapsed point, k-means++, random rows."""

from __future__ import annotations

import numpy as np

from powerkmeans.objective.distances import squared_distances
from powerkmeans.support.draws import draw_by_weight
from powerkmeans.types import Array, Float64Array

CLOUD_SCALE = 0.1


def cloud(
    eigenvalues: Float64Array,
    eigenvectors: Float64Array,
    n_clusters: int,
    rng: np.random.Generator,
) -> Float64Array:
    """``theta_j - mu = 0.1 V diag(sqrt(e)) x_j`` with standard normal ``x_j``.

    ``e, V`` are the leading eigenpairs of the feature covariance, so the start needs only moments of the
    data: it depends on neither the order nor the repetition of rows.
    """
    coordinates = rng.standard_normal((n_clusters, len(eigenvalues)))
    spread = coordinates * np.sqrt(np.maximum(eigenvalues, 0))
    return CLOUD_SCALE * spread @ eigenvectors.T


def random_rows(rows: Array, weight: Float64Array, n_clusters: int, rng: np.random.Generator) -> list[int]:
    """Indices of distinct rows drawn by weight without replacement; repeated only if too few exist."""
    kept, _ = draw_by_weight(rng.standard_exponential(len(rows)), weight, n_clusters)
    return _fill(kept.tolist(), n_clusters)


def plus_plus(rows: Float64Array, weight: Float64Array, n_clusters: int, rng: np.random.Generator) -> list[int]:
    """Indices chosen by greedy k-means++: by weight times squared distance, the best of a few draws.

    Rows are distinct and in an order fixed by their content. No row is chosen twice while another
    remains; draws go through the cumulative weight, so weights equal repetition.
    """
    n_trials = 2 + int(np.log(n_clusters))
    chosen: list[int] = []
    cost = np.ones(len(rows))
    for step in range(min(n_clusters, len(rows))):
        potential = weight * cost
        potential[chosen] = 0
        if not np.any(potential > 0):
            potential = np.where(np.isin(np.arange(len(rows)), chosen), 0.0, weight)
        trials = _draw(potential, n_trials if step else 1, rng)
        distances = squared_distances(rows[trials], rows, np)
        costs = distances if step == 0 else np.minimum(distances, cost)
        best = int(np.argmin(costs @ weight))
        chosen.append(int(trials[best]))
        cost = costs[best]
        cost[chosen] = 0
    return _fill(chosen, n_clusters)


def _draw(potential: Float64Array, size: int, rng: np.random.Generator) -> np.ndarray:
    cumulative = np.cumsum(potential)
    drawn = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
    last = np.flatnonzero(potential > 0)[-1]
    return np.minimum(drawn, last)


def _fill(chosen: list[int], size: int) -> list[int]:
    return [int(chosen[i % len(chosen)]) for i in range(size)]
