"""Checks of given centroids."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from powerkmeans.support.values import naming
from powerkmeans.types import Array


def check_init(init: Any, n_clusters: int, n_features: int, n_outputs: int, dtype: Any) -> Array:
    """Check given centroids: rows of data space, or of feature space if the width says so."""
    with naming("init"):
        if np.ndim(init) != 2:
            raise ValueError(f"The initial centers must be a 2D array, got {np.ndim(init)} dimension(s).")
        centers = check_array(init, dtype=np.float64, input_name="init")
    if len(centers) != n_clusters:
        raise ValueError(
            f"The shape of the initial centers {centers.shape} does not match n_clusters={n_clusters}."
        )
    if centers.shape[1] not in (n_features, n_outputs):
        raise ValueError(
            f"The shape of the initial centers {centers.shape} does not match the data: expected "
            f"{n_features} columns (points of the data) or {n_outputs} (points of the feature space)."
        )
    return centers.astype(dtype)


def check_shares(name: str, init: Any, n_clusters: int, present: Array) -> Array:
    """Check given centroids of a view of exact kernel: weights of the training samples that are present."""
    expected = (n_clusters, len(present))
    with naming("init"):
        found = np.shape(init)
    if found != expected:
        raise ValueError(
            "With feature_map='exact', centroids are weights of the training samples: init of view "
            f"{name!r} must have the shape (n_clusters, n_samples) = {expected}, got {found}."
        )
    with naming("init"):
        shares = check_array(init, dtype=np.float64, input_name="init")
    absent = np.flatnonzero(np.any(shares != 0, axis=0) & ~present)
    if len(absent):
        raise ValueError(f"init (view {name!r}) gives weight to sample {absent[0]}, which lacks that view.")
    wrong = np.flatnonzero(np.abs(np.sum(shares, axis=1) - 1) > 1e-6)
    if len(wrong):
        raise ValueError(
            f"The weights of the training samples must add up to 1 in each row of init (view {name!r}); row "
            f"{wrong[0]} adds up to {np.sum(shares[wrong[0]]):g}."
        )
    return shares
