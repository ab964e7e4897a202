"""What a view's neighbours say about clusters: how many of them are in a sample's own, beyond chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from powerkmeans.types import Float64Array

# a view that says nothing keeps this share of what one that says everything has
LEAST_SHARE = 1e-3


def beyond_chance(shares: csr_array, labels: NDArray[np.integer], weight: Float64Array) -> float:
    """``(share - chance) / (1 - chance)`` of the neighbours in one view.

    ``share`` is the mean over rows of the weight that their neighbours give to their own cluster, where a landmark
    is of the clusters of the *other* rows that point to it; ``chance = sum_c (n_c / n)^2``.
    """
    share, total = _same_cluster(shares, labels, weight), float(np.sum(weight))
    sizes = np.bincount(labels, weights=weight) / total
    chance = float(sizes @ sizes)
    return 0.0 if chance >= 1 else (share - chance) / (1 - chance)


def _same_cluster(shares: csr_array, labels: NDArray[np.integer], weight: Float64Array) -> float:
    """The mean share of neighbours that others of a row's own cluster point to."""
    rows = np.repeat(np.arange(shares.shape[0]), np.diff(shares.indptr))
    landmark, pull = shares.indices, shares.data * weight[rows]
    n_labels = int(np.max(labels)) + 1
    at = landmark.astype(np.int64) * n_labels + labels[rows]
    by_cluster = np.bincount(at, weights=pull, minlength=shares.shape[1] * n_labels)[at] - pull
    by_all = np.bincount(landmark, weights=pull, minlength=shares.shape[1])[landmark] - pull
    known = by_all > np.finfo(np.float64).eps * pull
    same = np.where(known, by_cluster / np.where(known, by_all, 1), 0.0)
    counted = float(np.sum(pull[known]))
    return float(np.sum(pull * same)) / counted if counted > 0 else 0.0
