"""LSC: spectral clustering with landmarks.

Chen and Cai, "Large Scale Spectral Clustering with Landmark-Based Representation", AAAI 2011. With p landmarks u
of the n rows x, each row is a mean of its r nearest landmarks by Nadaraya and Watson,

    Z_ij = K(x_i, u_j) / sum over the r nearest of K(x_i, u_j'),   K(x, u) = exp(-|x - u|^2 / (2 h^2)),

and the graph of the rows is Zh Zhᵀ with Zh = Z D^(-1/2), D the diagonal of the sums of the columns of Z. Its top k
eigenvectors are the left singular vectors of Zh, from the eigenvectors V of the p x p matrix Zhᵀ Zh as
Zh V / sigma; labels are k-means on their rows. LSC-R draws the landmarks at random, LSC-K takes the centres of a
few steps of k-means.

Defaults of the authors: p = 1000 (here half of the rows where there are fewer than 2000), r = 5, five steps of one
k-means for the landmarks, the cheapest of 10 k-means of 100 steps for the labels. h is the mean distance of a row
to a landmark; the paper leaves it open. Equal landmarks are one landmark.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, diags_array
from sklearn.cluster import KMeans

from benchmarks.methods.interface import Views
from benchmarks.methods.landmarks import affordable, centres, distinct, gaussian, nearest, random_rows

LANDMARKS, NEIGHBOURS = 1000, 5
RANDOM, MEANS = "random", "k-means"
_SELECTION_STEPS, _LABEL_STEPS, _LABEL_STARTS = 5, 100, 10
_NEGLIGIBLE = 1e-12  # of the largest squared singular value


def choose_landmarks(X: np.ndarray, count: int, how: str, seed: int) -> np.ndarray:
    """Rows at random (LSC-R), or centres of k-means (LSC-K)."""
    if how not in (RANDOM, MEANS):
        raise ValueError(f"Landmarks are {RANDOM!r} or {MEANS!r}, not {how!r}.")
    chosen = random_rows(X, count, seed) if how == RANDOM else centres(X, count, _SELECTION_STEPS, seed)
    return distinct(chosen)


def representation(X: np.ndarray, landmarks: np.ndarray, r: int) -> csr_array:
    """Z: each row as a mean of its r nearest landmarks."""
    found = nearest(X, landmarks, r)
    # divided by the largest of a row first, so that a row far from all landmarks does not become 0 / 0
    squares = found.distances**2 - np.min(found.distances**2, axis=1, keepdims=True)
    weights = gaussian(np.sqrt(squares), found.mean)
    return found.matrix(weights / weights.sum(axis=1, keepdims=True), len(landmarks))


def left_singular_vectors(Z: csr_array, k: int) -> np.ndarray:
    """The top k of Z D^(-1/2), of the columns that some row points to."""
    used = Z[:, np.flatnonzero(Z.sum(axis=0) > 0)]
    scaled = used @ diags_array(1 / np.sqrt(used.sum(axis=0)))
    m = scaled.shape[1]
    squares, right = eigh((scaled.T @ scaled).toarray(), subset_by_index=[max(m - k, 0), m - 1])
    kept = squares > _NEGLIGIBLE * squares[-1]
    return scaled @ (right[:, kept] / np.sqrt(squares[kept]))


def run(
    views: Views,
    k: int,
    seed: int,
    *,
    how: str = MEANS,
    n_landmarks: int = LANDMARKS,
    n_neighbors: int = NEIGHBOURS,
) -> np.ndarray:
    """Labels of the rows of one view."""
    (X,) = views
    landmarks = choose_landmarks(X, affordable(n_landmarks, len(X), k), how, seed)
    model = KMeans(k, n_init=_LABEL_STARTS, max_iter=_LABEL_STEPS, random_state=seed)
    return model.fit_predict(left_singular_vectors(representation(X, landmarks, n_neighbors), k))
