"""SVD-SMKKM: SimpleMKKM on kernels between all rows and some landmarks, with singular vectors, linear in rows.

Liang et al., "On the Consistency and Large-Scale Extension of Multiple Kernel Clustering", IEEE TPAMI 2024: the
eigendecomposition of SimpleMKKM is replaced by a singular value decomposition. In its plain form, with P_p the
kernel of view p between n rows and m landmarks,

    min over w of f(w),   f(w) = max over H, V of tr(Hᵀ P(w) V),   P(w) = Σ_p w_p² P_p,   HᵀH = VᵀV = I,

w on the simplex, so that f(w) is the sum of the k largest singular values of P(w), with the gradient
2 w_p tr(Hᵀ P_p V) at the singular vectors H (left) and V (right). Labels are k-means on the rows of H at unit
length. If all rows are landmarks, P_p is the kernel itself and this is SimpleMKKM.

Ours, as this is written from the abstract of the paper: landmarks are rows drawn evenly without replacement, the
same in all views, 500 unless told; views are z-scored; kernels are Gaussians exp(-d² / (2 t²)), t the median
distance of two landmarks, centred at the mean of the landmarks' features and scaled to unit length (cosine); the
weights are found by SLSQP from even ones; the labels are the cheapest of 10 starts of k-means. Singular vectors
come from the products P_pᵀ P_q, which are computed once, so that only kernels, products and labels take time that
grows with n.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.utils import check_array

_NEGLIGIBLE = 1e-12  # of the largest squared singular value


def landmark_kernel(view: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
    """cos(φ(x) - φ̄, φ(l) - φ̄) of all rows x and landmarks l, φ of a Gaussian and φ̄ the landmarks' mean.

    With P = exp(-d² / (2 t²)), ⟨φ(x) - φ̄, φ(l) - φ̄⟩ = P_xl - mean_l P_xl - mean_x P_xl + mean P, means over
    x being over landmarks, and |φ(x) - φ̄|² = 1 - 2 mean_l P_xl + mean P.
    """
    scaled = StandardScaler().fit_transform(check_array(view, dtype=[np.float64, np.float32]))
    kernel = euclidean_distances(scaled, scaled[landmarks], squared=True).astype(np.float64, copy=False)
    pairs = kernel[landmarks][np.triu_indices(len(landmarks), 1)]
    median = np.median(pairs) if len(pairs) else 0.0
    if median <= 0:
        raise ValueError(
            "The median distance of a view is 0: at least half of its pairs of landmarks are the same."
        )
    kernel /= -2 * median
    np.exp(kernel, out=kernel)
    row_means, landmark_means = kernel.mean(axis=1), kernel[landmarks].mean(axis=0)
    overall = landmark_means.mean()
    scales = 1 / np.sqrt(np.maximum(1 - 2 * row_means + overall, _NEGLIGIBLE))
    kernel -= row_means[:, None]
    kernel += overall - landmark_means
    kernel *= scales[:, None]
    kernel *= scales[landmarks]
    return kernel


def products(kernels: list[np.ndarray]) -> np.ndarray:
    """P_pᵀ P_q of all pairs of kernels, of shape (kernels, kernels, m, m)."""
    m = kernels[0].shape[1]
    grams = np.empty((len(kernels), len(kernels), m, m))
    for p, first in enumerate(kernels):
        for q, second in enumerate(kernels[: p + 1]):
            grams[p, q] = first.T @ second
            grams[q, p] = grams[p, q].T
    return grams


def optimal_value(grams: np.ndarray, weights: np.ndarray, k: int) -> tuple[float, np.ndarray, np.ndarray]:
    """f(w), its gradient, and V / σ, by which P(w) becomes H.

    P(w)ᵀ P(w) = Σ_pq w_p² w_q² P_pᵀ P_q = V σ² Vᵀ and H = P(w) V / σ, so tr(Hᵀ P_p V) is the sum over j of
    v_jᵀ P(w)ᵀ P_p v_j / σ_j.
    """
    against = np.tensordot(weights**2, grams, 1)
    m = grams.shape[-1]
    squares, right = eigh(np.tensordot(weights**2, against, 1), subset_by_index=[m - k, m - 1])
    to_left = right / np.sqrt(np.maximum(squares, _NEGLIGIBLE * squares[-1]))
    alignments = np.array([np.sum(to_left * (gram @ right)) for gram in against])
    return float(weights**2 @ alignments), 2 * weights * alignments, to_left


def best_weights(grams: np.ndarray, k: int, max_iter: int, tol: float) -> np.ndarray:
    """The weights on the simplex that minimise f, from even ones; ``tol`` is of f, relative to the start."""
    count = len(grams)
    even = np.full(count, 1 / count)
    scale = optimal_value(grams, even, k)[0]

    def scaled_value(weights: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient, _ = optimal_value(grams, weights, k)
        return value / scale, gradient / scale

    found = minimize(
        scaled_value,
        even,
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * count,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like},
        options={"maxiter": max_iter, "ftol": tol},
    )
    weights = np.maximum(found.x, 0)
    weights /= weights.sum()
    return weights if scaled_value(weights)[0] <= 1 else even


def svd_smkkm(
    kernels: list[np.ndarray], k: int, seed: int, *, max_iter: int = 100, tol: float = 1e-9, n_init: int = 10
) -> tuple[np.ndarray, np.ndarray, float]:
    """Labels, weights and f of kernels between n rows and m landmarks, taken as they are."""
    n, m = _shape(kernels)
    if not 1 <= k <= min(n, m):
        raise ValueError(f"k = {k} clusters, but there are {n} rows and {m} landmarks.")
    grams = products(kernels)
    weights = best_weights(grams, k, max_iter, tol)
    value, _, to_left = optimal_value(grams, weights, k)
    left = sum(weight**2 * (kernel @ to_left) for weight, kernel in zip(weights, kernels, strict=True))
    labels = KMeans(k, n_init=n_init, random_state=seed).fit_predict(normalize(left))
    return labels, weights, value


def run(views: list[np.ndarray], k: int, seed: int, *, n_landmarks: int = 500, **setting: Any) -> np.ndarray:
    """Labels of the rows of all views; ``setting`` goes to :func:`svd_smkkm`."""
    if len({len(view) for view in views}) != 1:
        raise ValueError("There must be views, all with the same number of rows.")
    n = len(views[0])
    if not 1 <= k <= n:
        raise ValueError(f"k = {k} clusters, but there are {n} rows.")
    landmarks = np.random.default_rng(seed).choice(n, min(n, n_landmarks), replace=False)
    return svd_smkkm([landmark_kernel(view, landmarks) for view in views], k, seed, **setting)[0]


def _shape(kernels: list[np.ndarray]) -> tuple[int, int]:
    """The common shape of all kernels."""
    shapes = {np.shape(kernel) for kernel in kernels}
    if len(shapes) != 1:
        raise ValueError(f"There must be kernels, all of one shape; the shapes are {sorted(shapes)}.")
    return shapes.pop()
