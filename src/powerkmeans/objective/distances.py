"""Squared distances by a matrix product, with their digits where they are small."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from powerkmeans.types import Array, device_of


@cache
def smallest_share(dtype: Any, xp: Any) -> float:
    """The share of the squared norms that must be left of an expanded square for two thirds of its digits.

    ``||x||^2 + ||t||^2 - 2 x.t`` is off by ``eps`` times the squared norms, whatever is left of them: where that
    is the share ``rho``, the relative error is ``eps / rho``.
    """
    return float(xp.finfo(dtype).eps) ** (1 / 3)


def squared_distances(points: Array, rows: Array, xp: Any) -> Array:
    """``||t_j - x_i||^2``, (k, b), never negative."""
    scale = xp.linalg.vecdot(points, points)[:, None] + xp.linalg.vecdot(rows, rows)
    zero = xp.zeros((), dtype=scale.dtype, device=device_of(scale))
    distance = xp.maximum(scale - 2 * points @ rows.T, zero)
    near = distance < smallest_share(distance.dtype, xp) * scale
    return with_differences(distance, near, rows, points, xp)


def with_differences(distance: Array, near: Array, rows: Array, points: Array, xp: Any) -> Array:
    """The distances, those that are marked taken anew: expanded squares have lost their digits.

    NumPy takes those alone, in place, and so do tensors in the processor's memory. Elsewhere, reading which they
    are would wait for the device; there all are taken, one point at a time, and the marked ones chosen.
    """
    if getattr(distance, "is_cpu", False):
        return _in_place(distance, near, rows, points, xp)
    if xp is not np:
        exact = [xp.linalg.vecdot(rows - points[j, :], rows - points[j, :]) for j in range(points.shape[0])]
        return xp.where(near, xp.stack(exact), distance)
    for cluster in np.flatnonzero(np.any(near, axis=1)):
        samples = np.flatnonzero(near[cluster])
        difference = rows[samples] - points[cluster]
        distance[cluster, samples] = np.vecdot(difference, difference)
    return distance


def _in_place(distance: Array, near: Array, rows: Array, points: Array, xp: Any) -> Array:
    for cluster in xp.nonzero(xp.any(near, axis=1))[0].tolist():
        samples = xp.nonzero(near[cluster, :])[0]
        difference = xp.take(rows, samples, axis=0) - points[cluster, :]
        distance[cluster, samples] = xp.linalg.vecdot(difference, difference)
    return distance
