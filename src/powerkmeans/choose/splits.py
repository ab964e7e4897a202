"""Where groups of centroids separate along an annealing."""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from powerkmeans.types import Array, Float64Array


def joined(groups: Array, s: Float64Array) -> Float64Array:
    """Clusters in the order in which they join when the annealing is read backwards, as ``scipy``'s linkage.

    Two clusters part after the last exponent at which they were together, groups of them where the last pair
    between them does (single linkage): a group that opens and closes again counts as one until it opens for good.
    The distances are ``1 / |s|``: zero for clusters that never part; those that were never together part at the
    first exponent.

    Parameters
    ----------
    groups : (n_iter, k), for each cluster the first of those that it has not separated from
    s : (n_iter,)

    """
    sizes = np.abs(np.asarray(s, dtype=np.float64))
    together = np.full((groups.shape[1],) * 2, sizes[0])
    for line, size in zip(groups, sizes, strict=True):
        together[line[:, None] == line] = size
    np.fill_diagonal(together, np.inf)
    return linkage(squareform(1 / together, checks=False), "single")


def stretches(groups: Array, s: Float64Array, numbers: list[int]) -> Float64Array:
    """For each number of groups, over how much of log |s| there are as many; NaN where no end is seen."""
    sizes = np.abs(np.asarray(s, dtype=np.float64))
    splits = np.sort(1 / np.maximum(joined(groups, s)[:, 2], 1 / sizes[-1]))
    edges = np.log(np.concatenate([sizes[:1], splits]))
    lengths = np.append(np.diff(edges), np.nan)  # of 1, 2, ... groups; that of all of them has no end
    return np.array([lengths[k - 1] if k <= len(lengths) else np.nan for k in numbers])
