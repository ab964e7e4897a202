"""SimpleMKKM: one kernel for each view, weights of the kernels by a min-max problem, k-means on eigenvectors.

Liu et al., "SimpleMKKM: Simple Multiple Kernel K-means", IEEE TPAMI 2023 (arXiv:2005.04975):

    min over w of f(w),   f(w) = max over H of tr(K(w) H Hᵀ),   K(w) = Σ_p w_p² K_p,   HᵀH = I,

w on the simplex, H of shape (n, k), kernels centred and scaled to unit diagonal. The best H are the top k
eigenvectors of K(w), so f is smooth where the k-th eigenvalue is above the next; with positive semidefinite
kernels it is convex too, a maximum of convex functions. The paper minimises it by reduced gradient descent from
even weights. At the minimum w_p is proportional to 1 / tr(K_p H Hᵀ): the less a kernel agrees with H, the more it
weighs.

Ours: each kernel is a Gaussian exp(-d² / (2 t²)) of one view, t the median distance of two rows; the step is where
the slope along the direction vanishes; it ends when no weight changes by 1e-4; the labels are the cheapest of 50
starts of k-means on the rows of H at unit length, where the best of 50 by the true labels is often reported.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import brentq
from scipy.sparse.linalg import eigsh
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import normalize
from sklearn.utils import check_array

_LANCZOS_ROWS = 300  # fewer are solved densely
_STEP_ACCURACY = 0.05  # of a step


def gaussian_kernel(view: np.ndarray) -> np.ndarray:
    """exp(-d² / (2 t²)) of all pairs of rows, t the median distance of two different rows."""
    view = check_array(view, dtype=np.float64)
    squared = euclidean_distances(view, squared=True)
    median = np.median(squared[np.triu_indices(len(view), 1)]) if len(view) > 1 else 0.0
    if median <= 0:
        raise ValueError("The median distance of a view is 0: at least half of its pairs of rows are the same.")
    return np.exp(squared / (-2 * median))


def normalised(kernel: np.ndarray) -> np.ndarray:
    """The kernel of the features less their mean, at unit length: (Φ - Φ̄)(Φ - Φ̄)ᵀ, then unit diagonal."""
    means = kernel.mean(axis=0)
    centred = kernel - means - means[:, None] + means.mean()
    lengths = np.diag(centred)
    smallest = 1e-12 * np.abs(kernel).max()
    if lengths.max() <= smallest:
        raise ValueError("A kernel is constant: nothing is left of it once centred.")
    scales = 1 / np.sqrt(np.maximum(lengths, smallest))
    return centred * scales * scales[:, None]


def top_eigenvectors(matrix: np.ndarray, k: int) -> np.ndarray:
    """Eigenvectors of the k largest eigenvalues of a symmetric matrix, as columns."""
    n = len(matrix)
    if n < _LANCZOS_ROWS or 10 * k > n:
        return eigh(matrix, subset_by_index=[n - k, n - 1])[1]
    return eigsh(matrix, k, which="LA", tol=1e-9, v0=np.random.default_rng(0).standard_normal(n))[1]


def optimal_value(kernels: np.ndarray, weights: np.ndarray, k: int) -> tuple[float, np.ndarray, np.ndarray]:
    """f(w) = Σ_p w_p² tr(K_p H Hᵀ) at the best H, its gradient 2 w_p tr(K_p H Hᵀ), and H."""
    eigenvectors = top_eigenvectors(np.tensordot(weights**2, kernels, 1), k)
    alignments = np.array([np.sum(eigenvectors * (kernel @ eigenvectors)) for kernel in kernels])
    return float(weights**2 @ alignments), 2 * weights * alignments, eigenvectors


def descent_direction(weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """The reduced gradient: each weight against its slope less that of the largest, which takes up the sum.

    A weight of 0 that would fall stays. The length is such that a step of 1 is the largest on the simplex.
    """
    largest = int(np.argmax(weights))
    direction = gradient[largest] - gradient
    direction[(weights <= 0) & (direction < 0)] = 0
    direction[largest] -= direction.sum()
    falling = direction < 0
    return direction * np.min(weights[falling] / -direction[falling]) if falling.any() else np.zeros_like(weights)


def best_step(
    kernels: np.ndarray, weights: np.ndarray, gradient: np.ndarray, direction: np.ndarray, k: int, accuracy: float
) -> float:
    """The step in [0, 1] at which the slope of f along the direction vanishes, 1 if f falls all the way."""

    @cache
    def slope(step: float) -> float:
        if step == 0:
            return float(gradient @ direction)
        return float(optimal_value(kernels, np.maximum(weights + step * direction, 0), k)[1] @ direction)

    if slope(0.0) >= 0:
        return 0.0
    return 1.0 if slope(1.0) <= 0 else brentq(slope, 0.0, 1.0, xtol=accuracy, rtol=_STEP_ACCURACY)


def simple_mkkm(
    kernels: list[np.ndarray], k: int, seed: int, *, max_iter: int = 100, tol: float = 1e-4, n_init: int = 50
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Labels, weights of the kernels, and f at the start and after each step.

    Kernels are centred and scaled to unit diagonal first. It stops when no weight changes by ``tol``, or f does
    not fall.
    """
    stack = _checked(kernels, k)
    weights = np.full(len(stack), 1 / len(stack))
    value, gradient, eigenvectors = optimal_value(stack, weights, k)
    objectives = [value]
    for _ in range(max_iter):
        direction = descent_direction(weights, gradient)
        reach = np.abs(direction).max()
        if reach < tol:
            break
        step = best_step(stack, weights, gradient, direction, k, 0.1 * tol / reach)
        moved = np.maximum(weights + step * direction, 0)
        moved /= moved.sum()
        value, gradient, candidates = optimal_value(stack, moved, k)
        if value >= objectives[-1]:
            break
        change = np.abs(moved - weights).max()
        weights, eigenvectors = moved, candidates
        objectives.append(value)
        if change < tol:
            break
    labels = KMeans(k, n_init=n_init, random_state=seed).fit_predict(normalize(eigenvectors))
    return labels, weights, objectives


def run(views: list[np.ndarray], k: int, seed: int, **setting: Any) -> np.ndarray:
    """Labels of the rows of all views; ``setting`` goes to :func:`simple_mkkm`."""
    return simple_mkkm([gaussian_kernel(view) for view in views], k, seed, **setting)[0]


def _checked(kernels: list[np.ndarray], k: int) -> np.ndarray:
    """The kernels, normalised, in one array of shape (kernels, n, n)."""
    if not kernels:
        raise ValueError("At least one kernel is needed.")
    n = len(kernels[0])
    for kernel in kernels:
        if np.shape(kernel) != (n, n):
            raise ValueError(f"Kernels must all be {n} x {n}, one has the shape {np.shape(kernel)}.")
    if not 1 <= k <= n:
        raise ValueError(f"k = {k} clusters, but there are {n} rows.")
    return np.stack([normalised(check_array(kernel, dtype=np.float64)) for kernel in kernels])
