"""Columns that tell clusters apart: what a first graph finds says which of hundreds of columns say nothing.

Principal components are estimated from all columns, and the noise of each is in them; columns are there or not.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from powerkmeans.features.graph.edge import rows_with, side_by_side
from powerkmeans.types import Float64Array


def chance_of(rows: Float64Array, weight: Float64Array, labels: NDArray[np.integer]) -> Float64Array:
    """By column the chance that clusters differ as much in it by luck: the F-test of their means.

    Weighted rows count as their effective number. One where there is nothing to compare.
    """
    share = weight / np.sum(weight)
    _, labels = np.unique(labels, return_inverse=True)
    sizes = np.bincount(labels, weights=share)
    offset = rows - share @ rows
    total = share @ offset**2
    sums = np.zeros((len(sizes), rows.shape[1]))
    np.add.at(sums, labels, share[:, None] * offset)
    within = total - np.sum(sums**2 / sizes[:, None], axis=0)
    freedom = 1 / np.sum(share**2) - len(sizes)
    if len(sizes) == 1 or freedom <= 0:
        return np.ones(rows.shape[1])
    varied = total > np.finfo(np.float64).eps * (share @ rows**2)  # less is rounding
    part = np.clip(within / np.where(varied, total, 1.0), 0.0, 1.0)
    return np.where(varied, betainc(freedom / 2, (len(sizes) - 1) / 2, part), 1.0)


def telling_columns(
    rows: Any, weight: Float64Array, offsets: tuple[int, ...], labels: NDArray[np.integer]
) -> Float64Array:
    """Directions, as ``edge.projection`` has them, of columns that clusters differ in beyond chance.

    Of a view's columns that say nothing one is kept on average; the most telling one always is.
    """
    parts = []
    for view, (start, end) in enumerate(pairwise(offsets)):
        has = rows_with(rows, offsets, view)
        chance = chance_of(rows[has, start:end].astype(np.float64), weight[has], labels[has])
        kept = np.flatnonzero(chance <= max(1 / (end - start), float(np.min(chance))))
        parts.append(np.eye(end - start)[:, kept])
    return side_by_side(parts)
