"""Bandwidths from a sample of rows: a typical pairwise distance."""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances

from powerkmeans.features.kernels import Kernel
from powerkmeans.features.pairs import as_dense
from powerkmeans.support.draws import STATISTIC_ROWS, affordable_rows
from powerkmeans.support.memory import FEW_ENTRIES
from powerkmeans.support.precision import HALF_THE_DIGITS, ROUNDING
from powerkmeans.types import Array, Float64Array

# keeps a tie at exactly one half of the weight from falling to either side by rounding
_HALF = 0.5 - ROUNDING


def median_rows(kernel: Kernel, n_features: int) -> int:
    """How many rows the median is taken on: a constant, fewer where a distance is dear."""
    if kernel.metric == "euclidean":
        return STATISTIC_ROWS
    return affordable_rows(n_features, FEW_ENTRIES)


def median_distance(rows: Array, weight: Float64Array, kernel: Kernel) -> float:
    """Weighted median distance between distinct rows, in the metric of the kernel.

    ``rows`` are distinct, ``weight`` their total weights; the pair ``(i, j)`` counts ``v_i v_j``. Pairs
    of equal rows do not count, so repeated rows never pull the bandwidth to zero.
    """
    if rows.shape[0] < 2:
        return 0.0
    unit, scaled = _scaled(rows)
    metric = euclidean_distances if kernel.metric == "euclidean" else manhattan_distances
    weight = weight / np.max(weight)
    pair_weight = squareform(np.outer(weight, weight), checks=False)
    median = weighted_median(squareform(metric(scaled), checks=False), pair_weight)
    if median < HALF_THE_DIGITS:  # the expanded form has lost it; differences have not
        median = weighted_median(pdist(as_dense(scaled), metric=kernel.metric), pair_weight)
    if median == 0:
        raise ValueError("The median distance between rows is zero to rounding; give a bandwidth.")
    return float(unit * median)


def _scaled(rows: Array) -> tuple[float, Array]:
    """Rows in units of their largest entry, seen from their median so that an outlier costs no digits."""
    if hasattr(rows, "toarray"):
        unit = float(np.max(np.abs(rows.data)))
        return unit, rows.astype(np.float64) / unit
    with np.errstate(over="ignore"):
        offset = rows.astype(np.float64) - np.median(rows, axis=0)
    unit = float(np.max(np.abs(offset)))
    if not np.isfinite(unit):
        raise ValueError("Distances between rows overflow float64; rescale the data.")
    return unit, offset / unit


def weighted_median(values: Float64Array, weight: Float64Array) -> float:
    """The smallest value with at least half of the weight at or below it."""
    if np.all(weight == weight[0]):  # no need to sort them all
        middle = math.ceil(len(values) * _HALF) - 1
        return float(np.partition(values, middle)[middle])
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weight[order])
    middle = np.searchsorted(cumulative, cumulative[-1] * _HALF)
    return float(values[order[middle]])
