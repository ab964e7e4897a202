"""What spectral methods with landmarks share: the landmarks, and the nearest of them to each row."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_chunked


def affordable(most: int, n: int, k: int) -> int:
    """So many landmarks, but no more than half of the rows, as long as that is two a cluster.

    Where all rows are landmarks each is its own nearest, and a graph of five neighbours falls into pieces: with
    half of them the peers find moons and rings of 800 rows, with all of them none.
    """
    return min(most, max(n // 2, min(n, 2 * k)))


def random_rows(X: np.ndarray, count: int, seed: int) -> np.ndarray:
    """So many rows drawn without replacement, all if there are fewer."""
    chosen = np.random.default_rng(seed).permutation(len(X))[:count]
    return X[chosen]


def distinct(rows: np.ndarray) -> np.ndarray:
    """Every row once."""
    return np.unique(rows, axis=0)


def centres(X: np.ndarray, count: int, max_iter: int, seed: int) -> np.ndarray:
    """Centres of a few steps of k-means from random rows; the rows themselves if they are no more."""
    if len(X) <= count:
        return X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than centres: some are the same
        model = KMeans(count, init="random", n_init=1, max_iter=max_iter, random_state=seed).fit(X)
    return model.cluster_centers_


class Nearest(NamedTuple):
    """The nearest landmarks of each row, their distances, and the mean distance to all landmarks."""

    indices: np.ndarray
    distances: np.ndarray
    mean: float

    def matrix(self, values: np.ndarray, n_landmarks: int) -> csr_array:
        """Values of rows and their nearest landmarks as a matrix of rows by landmarks."""
        n, r = self.indices.shape
        return csr_array(
            (values.ravel(), self.indices.ravel(), np.arange(0, n * r + 1, r)), shape=(n, n_landmarks)
        )


def nearest(X: np.ndarray, landmarks: np.ndarray, count: int) -> Nearest:
    """The so many nearest of the landmarks, all if there are fewer, without a matrix of rows by landmarks."""
    count, indices, distances, total = min(count, len(landmarks)), [], [], 0.0
    for block in pairwise_distances_chunked(X, landmarks):
        chosen = np.argpartition(block, count - 1, axis=1)[:, :count]
        indices.append(chosen)
        distances.append(np.take_along_axis(block, chosen, axis=1).astype(np.float64))
        total += float(block.sum(dtype=np.float64))
    return Nearest(np.vstack(indices), np.vstack(distances), total / (len(X) * len(landmarks)))


def gaussian(distances: np.ndarray, bandwidth: float) -> np.ndarray:
    """``exp(-d^2 / (2 sigma^2))``; where all distances are 0, and so is their mean, 1."""
    return np.exp(-(distances**2) / (2 * bandwidth**2)) if bandwidth > 0 else np.ones_like(distances)
