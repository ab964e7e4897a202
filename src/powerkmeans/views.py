"""User data in, aligned and checked views out: the one place that rejects data.

scikit-learn's own checks speak where they exist, so messages are the ones its users know.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from powerkmeans.types import Array

FLOATS = [np.float64, np.float32]


class Views(NamedTuple):
    """Named 2-D arrays with the same rows, and a weight per row."""

    names: tuple[str, ...]
    arrays: tuple[Array, ...]
    weight: Array


def check_single_view(estimator: Any, X: Any, sample_weight: Any = None, *, fitting: bool) -> Views:
    """Check one array of rows and its weights.

    New data is cast to the precision that the model was fitted in.
    """
    dtype = FLOATS if fitting else [estimator.cluster_centers_.dtype]
    X = validate_data(estimator, X, reset=fitting, accept_sparse="csr", dtype=dtype, order="C")
    if hasattr(X, "has_canonical_format") and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if fitting:
        check_enough_rows(X.shape[0], estimator.n_clusters)
    return Views(("X",), (X,), check_weight(sample_weight, X.shape[0], X.dtype))


def check_enough_rows(n_samples: int, n_clusters: int) -> None:
    """Reject fewer rows than clusters, in scikit-learn's words."""
    if n_samples < n_clusters:
        raise ValueError(f"n_samples={n_samples} should be >= n_clusters={n_clusters}.")


def check_weight(sample_weight: Any, n_samples: int, dtype: Any) -> Array:
    """Return one finite weight >= 0 per row, in the precision of the data."""
    if sample_weight is None:
        return np.ones(n_samples, dtype=dtype)
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
