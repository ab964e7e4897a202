"""What speaks for a number of clusters: cost against noise, stability under resampling, silhouette."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from powerkmeans.choose.path import Ground, Solution, labels_of, solve_all
from powerkmeans.objective.distances import squared_distances
from powerkmeans.support.draws import thin
from powerkmeans.types import Array, Float64Array, Parameters, RowSample

# rows that silhouettes are taken on: distances between all of them are held
SILHOUETTE_ROWS = 1000
_TINY = float(np.finfo(np.float64).tiny)


def cost_shares(ground: Ground, solutions: dict[int, Solution]) -> Float64Array:
    """For each number of clusters, the loss that is left of that of a single one, with the same view weights."""
    single, problem = ground.of(1), ground.task.problem
    mean = Parameters(np.zeros((1, problem.splits[-1])), ground.task.uniform_weights())
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
            mine = np.sort(part)
            present = None if rows.present is None else rows.present[mine]
            yield RowSample(tuple(view[mine] for view in rows.views), rows.weight[mine], present)


def labels_by_half(ground: Ground, half: RowSample, numbers: list[int]) -> list[Array]:
    """Labels of all rows by the solutions that a half of them has, one array a number of clusters."""
    found = solve_all(ground.on(half), numbers)
    return [labels_of(ground.of(k), found[k].parameters) for k in numbers]


def agreements(labels: list[list[Array]], weight: Float64Array) -> Float64Array:
    """Mean adjusted Rand index over all pairs of halves, for each number of clusters."""
    pairs = [
        [adjusted_rand(a, b, weight) for a, b in zip(first, second, strict=True)]
        for first, second in combinations(labels, 2)
    ]
    return np.mean(pairs, axis=0)


def adjusted_rand(first: Array, second: Array, weight: Float64Array) -> float:
    """The adjusted Rand index of weighted samples: 1 for the same partition, 0 on average for unrelated ones.

    A sample makes pairs with itself too, so that weights equal repetition and their scale does not matter.
    """
    table = np.zeros((int(np.max(first)) + 1, int(np.max(second)) + 1))
    np.add.at(table, (first, second), weight / np.sum(weight))
    both = float(np.sum(table**2))
    rows, columns = float(np.sum(np.sum(table, axis=1) ** 2)), float(np.sum(np.sum(table, axis=0) ** 2))
    chance, most = rows * columns, (rows + columns) / 2
    return 1.0 if most == chance else (both - chance) / (most - chance)


def silhouettes(ground: Ground, solutions: dict[int, Solution], rng: np.random.Generator) -> Float64Array:
    """Mean silhouette in feature space on some rows that have all views; NaN where there are too few of them."""
    rows = ground.rows
    complete = np.ones(len(rows.weight)) if rows.present is None else np.all(rows.present, axis=1)
    there = np.flatnonzero(complete)
    kept, weight = thin(rng.standard_exponential(len(there)), rows.weight[there], SILHOUETTE_ROWS)
    there = there[kept]
    features = [view[there].astype(np.float64) for view in rows.views]
    squared = [squared_distances(part, part, np) for part in features]
    values = []
    for k, solution in solutions.items():
        labels = labels_of(ground.of(k), solution.parameters)[there]
        distance = np.sqrt(np.tensordot(solution.parameters.view_weights, squared, axes=1))
        values.append(silhouette(distance, labels, weight))
    return np.array(values)


def silhouette(distance: Float64Array, labels: Array, weight: Float64Array) -> float:
    """Mean of ``(b - a) / max(a, b)``: a the mean distance within the own cluster, b to the nearest other.

    A sample alone in its cluster counts 0; NaN if there is one cluster only.
    """
    clusters, own = np.unique(labels, return_inverse=True)
    if len(clusters) < 2:
        return math.nan
    member = weight[:, None] * (own[:, None] == np.arange(len(clusters)))
    sums, sizes = distance @ member, np.sum(member, axis=0)
    each = np.arange(len(labels))
    others = sizes[own] - weight  # the cluster without the sample itself
    within = sums[each, own] / np.where(others > 0, others, 1)
    between = sums / sizes
    between[each, own] = np.inf
    nearest = np.min(between, axis=1)
    alone = others <= 1e-12 * sizes[own]
    value = np.where(alone, 0.0, (nearest - within) / np.maximum(np.maximum(nearest, within), _TINY))
    return float(np.average(value, weights=weight))
