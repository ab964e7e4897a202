"""Checks of what comes beside the data: numbers of rows, weights, given centroids."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from powerkmeans.types import Array
from powerkmeans.values import naming, wrong


def check_enough_rows(n_samples: int, n_clusters: int) -> None:
    """Reject fewer rows than clusters, in scikit-learn's words."""
    if n_samples < n_clusters:
        raise ValueError(f"n_samples={n_samples} should be >= n_clusters={n_clusters}.")


def check_weight(sample_weight: Any, n_samples: int, dtype: Any) -> Array:
    """Return one finite weight >= 0 per row, in the precision of the data."""
    if sample_weight is None:
        return np.ones(n_samples, dtype=dtype)
    with naming("sample_weight"):
        return _checked_weight(sample_weight, n_samples, dtype)


def _checked_weight(sample_weight: Any, n_samples: int, dtype: Any) -> Array:
    if isinstance(sample_weight, (str, bytes)):
        raise wrong("sample_weight", "an array of numbers >= 0, a number or None", sample_weight)
    if np.isscalar(sample_weight):
        sample_weight = np.full(n_samples, sample_weight)
    given = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if given.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {given.ndim}D array.")
    if len(given) != n_samples:
        raise ValueError(f"sample_weight.shape == {given.shape}, expected {(n_samples,)}!")
    if np.any(given < 0):
        row = int(np.flatnonzero(given < 0)[0])
        raise ValueError(f"Negative values in data passed to sample_weight: row {row} has {given[row]:g}.")
    if not np.any(given > 0):
        raise ValueError("Sample weights must contain at least one non-zero number.")
    # squares of weights, and their sums over rows, must stay inside the type
    largest, limit = float(np.max(given)), float(np.finfo(dtype).max) ** 0.5
    if not n_samples / limit < largest < limit / n_samples:
        raise ValueError(
            f"sample_weight reaches {largest:g}, outside the range of {np.dtype(dtype)} sums; divide it by its "
            "largest value."
        )
    return given.astype(dtype)


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


def overflow_error(dtype: Any, row: int) -> ValueError:
    """What to raise when the features of a row leave the range of their type."""
    return ValueError(
        f"Squared distances overflow {np.dtype(dtype)} (row {row}): its values are too large for this "
        "precision or bandwidth. Rescale the data, or use float64."
    )
