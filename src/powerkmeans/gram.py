"""What a kernel matrix can be made of: checks for views whose kernel is exact."""

from __future__ import annotations

from typing import Any

import numpy as np

from powerkmeans.features.exact import PRECOMPUTED
from powerkmeans.settings import Settings
from powerkmeans.sources import Source
from powerkmeans.types import Array, Views

# a given kernel matrix may differ from its transpose by this share of its largest entry
ASYMMETRY = 1e-6


def check_exact_views(views: Views, settings: Settings) -> None:
    """Reject what no kernel matrix can be made of: files, and given matrices that are none."""
    for name, array, own in zip(views.names, views.arrays, settings.of_views(views.names), strict=True):
        if own.feature_map != "exact":
            continue
        if isinstance(array, Source):
            raise ValueError(
                f"view {name!r} is a file, but feature_map='exact' needs all rows in memory; pass an array or use "
                "feature_map='rff' or 'nystroem'."
            )
        if own.kernel == PRECOMPUTED:
            index = views.names.index(name)
            there = slice(None) if views.present is None else views.present[:, index]
            _check_kernel_matrix(name, array, there)


def _check_kernel_matrix(name: str, matrix: Array, there: Any) -> None:
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"view {name!r}: with kernel='precomputed' X is the square matrix of kernels between all samples, got "
            f"the shape {matrix.shape}."
        )
    matrix = matrix[there][:, there]
    diagonal, largest = matrix.diagonal(), float(abs(matrix).max())
    if np.any(diagonal < 0):
        row = int(np.argmin(diagonal))
        raise ValueError(
            f"view {name!r}: the matrix has the negative diagonal entry {diagonal[row]:g} (sample {row}), "
            "but k(x, x) is a squared length. Pass kernels, not distances."
        )
    if float(abs(matrix - matrix.T).max()) > ASYMMETRY * largest:
        raise ValueError(f"view {name!r}: kernel='precomputed' needs a symmetric matrix.")
    if not np.any(diagonal > 0):
        raise ValueError(
            f"view {name!r}: the matrix has a diagonal of zeros, so every sample is the same point. "
            "Pass kernels, not distances."
        )
