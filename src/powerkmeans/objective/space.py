"""Inner products of points of the feature space, by coordinates or through a kernel matrix.

A dual view has no coordinates. A point of it is ``theta = sum_i a_i phi_i`` and is kept as the pair of its
coefficients ``a`` and its values ``K a``, the inner products with the training rows. The inner product of two such
points is ``a . (K b)``, so nothing but a pass ever multiplies by the kernel matrix.
"""

from __future__ import annotations

import numpy as np

from powerkmeans.types import Array, Float64Array, Problem


def coefficients(points: Array) -> Array:
    """What points of a dual view are made of: ``a``, (k, n)."""
    return points[:, : points.shape[1] // 2]


def values(points: Array) -> Array:
    """Their inner products with the training rows: ``K a``, (k, n)."""
    return points[:, points.shape[1] // 2 :]


def inner_products(left: Float64Array, right: Float64Array, problem: Problem) -> Float64Array:
    """``<left_j, right_j>`` in each view, (k, L)."""
    if not problem.dual and len(problem.view_slices) == 1:
        return np.vecdot(left, right)[:, None]
    parts = [_factors(left[:, part], right[:, part], dual) for part, dual in _views(problem)]
    return np.stack([np.vecdot(a, b) for a, b in parts], axis=1)


def gram_matrix(points: Float64Array, view_weights: Float64Array, problem: Problem) -> Float64Array:
    """``sum_l alpha_l <p_il, p_jl>``, (k, k)."""
    total = np.zeros((len(points), len(points)))
    for weight, (part, dual) in zip(view_weights, _views(problem), strict=True):
        a, b = _factors(points[:, part], points[:, part], dual)
        total += weight * (a @ b.T)
    return (total + total.T) / 2


def _views(problem: Problem) -> list[tuple[slice, bool]]:
    return [(part, problem.is_dual(view)) for view, part in enumerate(problem.view_slices)]


def _factors(left: Float64Array, right: Float64Array, dual: bool) -> tuple[Float64Array, Float64Array]:
    return (coefficients(left), values(right)) if dual else (left, right)
