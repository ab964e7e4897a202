"""What scikit-learn has: k-means, spectral clustering, and k-means on features that stand for a kernel.

Everything runs with its own defaults for tolerance and iterations. Kernels are Gaussian, with the median distance
between rows as their bandwidth; the graph of neighbours has ten of each row, the default.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans, SpectralClustering
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import euclidean_distances

from benchmarks.methods.interface import Answer, Method, Run, square, without_setting

_MEDIAN_ROWS = 2000
_COMPONENTS = 500


def kmeans(n_init: int) -> Run:
    @without_setting
    def run(X: np.ndarray, k: int, seed: int) -> Answer:
        model = KMeans(k, n_init=n_init, random_state=seed).fit(X)
        return Answer(model.labels_, model.n_iter_ if n_init == 1 else None, predict=model.predict)

    return run


@without_setting
def mini_batch(X: np.ndarray, k: int, seed: int) -> Answer:
    model = MiniBatchKMeans(k, random_state=seed).fit(X)
    return Answer(model.labels_, predict=model.predict)


def median_gamma(X: np.ndarray, seed: int) -> float:
    """The coefficient of a Gaussian kernel whose bandwidth is the median distance between rows."""
    chosen = np.random.default_rng(seed).permutation(len(X))[:_MEDIAN_ROWS]
    distances = euclidean_distances(X[chosen])[np.triu_indices(len(chosen), k=1)]
    return float(1 / (2 * np.median(distances) ** 2))


def kmeans_on(sampler: Any) -> Run:
    """KMeans(10) on the features of a scikit-learn kernel approximation."""

    @without_setting
    def run(X: np.ndarray, k: int, seed: int) -> Answer:
        n_components = min(_COMPONENTS, len(X))
        features = sampler(gamma=median_gamma(X, seed), n_components=n_components, random_state=seed)
        answer = kmeans(10)([features.fit_transform(X)], k, seed)
        predict = answer.predict
        assert predict is not None
        return answer._replace(predict=lambda others: predict([features.transform(others)]))

    return run


@without_setting
def spectral(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    return SpectralClustering(k, gamma=median_gamma(X, seed), random_state=seed).fit_predict(X)


@without_setting
def spectral_neighbours(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    return SpectralClustering(k, affinity="nearest_neighbors", random_state=seed).fit_predict(X)


KMEANS_1, KMEANS_10 = Method(kmeans(1)), Method(kmeans(10))
MINI_BATCH = Method(mini_batch)
SPECTRAL = Method(spectral, bytes_needed=square(1))
SPECTRAL_NEIGHBOURS = Method(spectral_neighbours)
NYSTROEM, RBF_SAMPLER = Method(kmeans_on(Nystroem)), Method(kmeans_on(RBFSampler))
