"""Squared distances by a matrix product, with their digits where they are small."""

from __future__ import annotations

from typing import Any

from powerkmeans.types import Array


def smallest_share(dtype: Any, xp: Any) -> float:
    """The share of the squared norms that must be left of an expanded square for two thirds of its digits.

    ``||x||^2 + ||t||^2 - 2 x.t`` is off by ``eps`` times the squared norms, whatever is left of them: where that
    is the share ``rho``, the relative error is ``eps / rho``.
    """
    return float(xp.finfo(dtype).eps) ** (1 / 3)


def squared_distances(points: Array, rows: Array, xp: Any) -> Array:
    """``||t_j - x_i||^2``, (k, b), never negative."""
    scale = xp.vecdot(points, points)[:, None] + xp.vecdot(rows, rows)
    distance = xp.maximum(scale - 2 * points @ rows.T, xp.zeros((), dtype=scale.dtype))
    take_differences(distance, distance < smallest_share(distance.dtype, xp) * scale, rows, points, xp)
    return distance


def take_differences(distance: Array, near: Array, rows: Array, points: Array, xp: Any) -> None:
    """Take the distances that are marked anew, in place: expanded squares have lost their digits."""
    for cluster in xp.nonzero(xp.any(near, axis=1))[0]:
        (samples,) = xp.nonzero(near[cluster])
        difference = rows[samples] - points[cluster]
        distance[cluster, samples] = xp.vecdot(difference, difference)
