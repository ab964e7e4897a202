"""Bandwidths from a sample of rows: a typical pairwise distance."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import euclidean_distances

from powerkmeans.features.kernels import Kernel, as_dense
from powerkmeans.types import Array, Float64Array

MEDIAN_ROWS = 2000
_CITYBLOCK_WORK = 4e9


def median_rows(kernel: Kernel, n_features: int) -> int:
    """How many rows the median is taken on: a constant, fewer where a distance is dear."""
    if kernel.metric == "euclidean":
        return MEDIAN_ROWS
    return int(min(MEDIAN_ROWS, max(200.0, (_CITYBLOCK_WORK / n_features) ** 0.5)))


def median_distance(rows: Array, weight: Float64Array, kernel: Kernel) -> float:
    """Weighted median distance between distinct rows, in the metric of the kernel.

    ``rows`` are distinct, ``weight`` their total weights; the pair ``(i, j)`` counts ``v_i v_j``. Pairs
    of equal rows do not count, so repeated rows never pull the bandwidth to zero.
    """
    dense = as_dense(rows).astype(np.float64)
    dense = dense - np.mean(dense, axis=0)
    unit = np.max(np.abs(dense))
    if len(dense) < 2 or unit == 0:
        return 0.0
    dense = dense / unit
    first, second = np.triu_indices(len(dense), k=1)
    if kernel.metric == "euclidean":
        distances = euclidean_distances(dense)[first, second]
    else:
        distances = pdist(dense, metric="cityblock")
    weight = weight / np.max(weight)
    return float(unit * weighted_median(distances, weight[first] * weight[second]))


def weighted_median(values: Float64Array, weight: Float64Array) -> float:
    """The smallest value with at least half of the weight at or below it."""
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weight[order])
    # the slack keeps a tie at exactly one half from falling to either side by rounding
    middle = np.searchsorted(cumulative, cumulative[-1] * (0.5 - 1e-12))
    return float(values[order[middle]])
