"""What speaks for a number of clusters: cost against noise, stability under resampling, silhouette."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from powerkmeans.choose.path import Shared, Solution, labels_of, solve_all
from powerkmeans.features.graph.alike import agreement
from powerkmeans.objective.distances import squared_distances
from powerkmeans.support.draws import STATISTIC_ROWS, draw_by_weight
from powerkmeans.types import Array, Float64Array, Parameters, RowSample

# rows where that is dearer: silhouettes hold distances between all of them, and wide features make fits slow
FEWER_ROWS = STATISTIC_ROWS // 2
_TINY = float(np.finfo(np.float64).tiny)


def cost_shares(shared: Shared, solutions: dict[int, Solution]) -> Float64Array:
    """For each number of clusters, the loss that is left of that of a single one, with the same view weights."""
    single, problem = shared.with_clusters(1), shared.task.problem
    mean = Parameters(np.zeros((1, problem.splits[-1])), shared.task.uniform_weights())
    center = single.descend(mean).parameters.centers
    shares = []
    for solution in solutions.values():
        alone = single.run_pass(Parameters(center, solution.parameters.view_weights), -math.inf)
        shares.append(solution.loss / max(float(alone.loss), _TINY))
    return np.array(shares)


def halves(rows: RowSample, n_draws: int, rng: np.random.Generator) -> Iterator[RowSample]:
    """The rows, cut at random into two halves, so many times."""
    for _ in range(n_draws):
        order = rng.permutation(len(rows.weight))
        for part in np.array_split(order, 2):
            half = np.sort(part)
            present = None if rows.present is None else rows.present[half]
            yield RowSample(tuple(view[half] for view in rows.views), rows.weight[half], present)


def labels_by_half(shared: Shared, half: RowSample, numbers: list[int]) -> list[Array]:
    """Labels of all rows by the solutions that a half of them has, one array per number of clusters."""
    found = solve_all(shared.on_features(half), numbers)
    return [labels_of(shared.with_clusters(k), found[k].parameters) for k in numbers]


def agreements(labels: list[list[Array]], weight: Float64Array) -> Float64Array:
    """Mean adjusted Rand index over all pairs of halves, for each number of clusters."""
    pairs = [
        [agreement(a, b, weight) for a, b in zip(first, second, strict=True)]
        for first, second in combinations(labels, 2)
    ]
    return np.mean(pairs, axis=0)


def silhouettes(shared: Shared, solutions: dict[int, Solution], rng: np.random.Generator) -> Float64Array:
    """Mean silhouette in feature space on some rows that have all views; NaN where there are too few of them."""
    rows = shared.rows
    complete = np.ones(len(rows.weight)) if rows.present is None else np.all(rows.present, axis=1)
    chosen = np.flatnonzero(complete)
    kept, weight = draw_by_weight(rng.standard_exponential(len(chosen)), rows.weight[chosen], FEWER_ROWS)
    chosen = chosen[kept]
    features = [view[chosen].astype(np.float64) for view in rows.views]
    squared = [squared_distances(part, part, np) for part in features]
    values = []
    for k, solution in solutions.items():
        labels = labels_of(shared.with_clusters(k), solution.parameters)[chosen]
        distance = np.sqrt(np.tensordot(solution.parameters.view_weights, squared, axes=1))
        values.append(silhouette(distance, labels, weight))
    return np.array(values)


def silhouette(distance: Float64Array, labels: Array, weight: Float64Array) -> float:
    """Mean of ``(b - a) / max(a, b)``: a the mean distance within its cluster, b to the nearest other.

    A sample alone in its cluster counts 0; NaN if there is one cluster only.
    """
    clusters, cluster = np.unique(labels, return_inverse=True)
    if len(clusters) < 2:
        return math.nan
    member = weight[:, None] * (cluster[:, None] == np.arange(len(clusters)))
    sums, sizes = distance @ member, np.sum(member, axis=0)
    each = np.arange(len(labels))
    others = sizes[cluster] - weight  # the cluster without the sample itself
    within = sums[each, cluster] / np.where(others > 0, others, 1)
    between = sums / sizes
    between[each, cluster] = np.inf
    nearest = np.min(between, axis=1)
    alone = others <= 1e-12 * sizes[cluster]
    value = np.where(alone, 0.0, (nearest - within) / np.maximum(np.maximum(nearest, within), _TINY))
    return float(np.average(value, weights=weight))
