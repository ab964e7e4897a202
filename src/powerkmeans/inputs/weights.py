"""Checks of what comes beside the data: numbers of rows and their weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from powerkmeans.inputs.tensors import numbers_here
from powerkmeans.support.values import naming, wrong
from powerkmeans.types import Array


def check_enough_rows(n_samples: int, n_clusters: int) -> None:
    """Reject fewer rows than clusters, in scikit-learn's words."""
    if n_samples < n_clusters:
        raise ValueError(f"n_samples={n_samples} should be >= n_clusters={n_clusters}.")


def check_weight(sample_weight: Any, n_samples: int, dtype: Any) -> Array:
    """Return one finite weight >= 0 per row, in the precision of the data."""
    if sample_weight is None:
        return np.ones(n_samples, dtype=dtype)
    with naming("sample_weight"):
        return _checked_weight(numbers_here(sample_weight, "sample_weight"), n_samples, dtype)


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
        raise negative_weight(row, float(given[row]))
    if not np.any(given > 0):
        raise no_weight()
    check_largest_weight(float(np.max(given)), n_samples, dtype)
    return given.astype(dtype)


def negative_weight(row: int, value: float) -> ValueError:
    """What to raise for a weight below zero."""
    return ValueError(f"Negative values in data passed to sample_weight: row {row} has {value:g}.")


def no_weight() -> ValueError:
    """What to raise where all weights are zero."""
    return ValueError("Sample weights must contain at least one non-zero number.")


def check_largest_weight(largest: float, n_samples: int, dtype: Any) -> None:
    """Squares of weights, and their sums over rows, must stay inside the type."""
    limit = float(np.finfo(dtype).max) ** 0.5
    if not n_samples / limit < largest < limit / n_samples:
        raise ValueError(
            f"sample_weight reaches {largest:g}, outside the range of {np.dtype(dtype)} sums; divide it by its "
            "largest value."
        )
