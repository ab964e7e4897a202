"""Principal components above the noise edge: what is left of a view without the columns that say nothing.

Eigenvalues of the covariance of pure noise lie within the law of Marchenko and Pastur; those beyond its edge tell
of something that columns have in common.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from powerkmeans.types import Float64Array

# points that the law is integrated on
_POINTS = 2001


def noise_median(ratio: float) -> float:
    """The median eigenvalue of noise of unit variance, for so many columns per row, at most one."""
    low, high = (1 - ratio**0.5) ** 2, (1 + ratio**0.5) ** 2
    angle = (np.arange(_POINTS) + 0.5) * np.pi / _POINTS
    values = (low + high) / 2 - (high - low) / 2 * np.cos(angle)
    mass = np.cumsum(np.sin(angle) ** 2 / values)
    return float(values[np.searchsorted(mass, mass[-1] / 2)])


def above_edge(rows: Float64Array, weight: Float64Array, least: int) -> Float64Array:
    """Directions of the components of centred rows above the edge, (d, c), at least so many if there are."""
    share = weight / np.sum(weight)
    offset = (rows - share @ rows) * np.sqrt(share)[:, None]
    n_rows, n_columns = offset.shape
    wide = n_columns > n_rows
    values, vectors = np.linalg.eigh(offset @ offset.T if wide else offset.T @ offset)
    ratio = min(n_rows, n_columns) / max(n_rows, n_columns)
    if wide:  # per column instead of per row, which the law is symmetric in
        values = values * n_rows / n_columns
    noise = float(np.median(values)) / noise_median(ratio)
    count = max(least, int(np.sum(values > noise * (1 + ratio**0.5) ** 2)))
    chosen = np.argsort(-values, kind="stable")[: min(count, len(values))]
    directions = offset.T @ vectors[:, chosen] if wide else vectors[:, chosen]
    lengths = np.sqrt(np.sum(directions**2, axis=0))
    return directions[:, lengths > 0] / lengths[lengths > 0]


def projection(rows: Any, weight: Float64Array, offsets: tuple[int, ...], least: int) -> Float64Array:
    """Each view's directions in its rows of one array, padded with zeros to the same number."""
    parts = []
    for view, (start, end) in enumerate(pairwise(offsets)):
        has = rows_with(rows, offsets, view)
        parts.append(above_edge(rows[has, start:end].astype(np.float64), weight[has], least))
    return side_by_side(parts)


def rows_with(rows: Any, offsets: tuple[int, ...], view: int) -> NDArray[np.bool_]:
    """Which rows have a view."""
    return np.ones(len(rows), dtype=bool) if len(offsets) == 2 else rows[:, offsets[-1] + view] > 0


def side_by_side(parts: list[Float64Array]) -> Float64Array:
    """Directions of views in one array, padded with zeros to the same number."""
    width = max(part.shape[1] for part in parts)
    return np.concatenate([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts])
