"""Ours and its peers behind one call: rows, number of clusters and seed in, labels out.

Everything runs with its own defaults for tolerance and iterations, but "faiss, 10 starts", which takes all rows
and up to 100 iterations where faiss's defaults take 256 rows a cluster and 25. A peer that is not installed is
skipped, and the line that says so tells how to install it.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans, SpectralClustering
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import euclidean_distances

from powerkmeans import KernelPowerKMeans

REFERENCE = "KMeans(10)"
OURS = "powerkmeans"
_MEDIAN_ROWS = 2000
_COMPONENTS = 500


class Answer(NamedTuple):
    """Labels of all rows, and the iterations of all starts where the method tells."""

    labels: np.ndarray
    iterations: int | None = None


@dataclass(frozen=True)
class Method:
    """One way to cluster rows; ``module`` is what it imports, ``install`` the distribution that brings it."""

    run: Callable[[np.ndarray, int, int], Answer]
    module: str = "sklearn"
    install: str = "scikit-learn"
    most_rows: int | None = None

    def available(self) -> bool:
        """Whether its module can be imported, which also keeps the import out of the first fit's time."""
        try:
            importlib.import_module(self.module)
        except ImportError:
            return False
        return True

    def version(self) -> str:
        return version(self.install.split("==")[0])


def threads() -> int:
    """The number of threads that everything may use: all cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def ours(**parameters: Any) -> Callable[[np.ndarray, int, int], Answer]:
    def run(X: np.ndarray, k: int, seed: int) -> Answer:
        model = KernelPowerKMeans(k, random_state=seed, **parameters).fit(X)
        return Answer(model.labels_, sum(restart["n_iter"] for restart in model.restarts_))

    return run


def kmeans(n_init: int) -> Callable[[np.ndarray, int, int], Answer]:
    def run(X: np.ndarray, k: int, seed: int) -> Answer:
        model = KMeans(k, n_init=n_init, random_state=seed).fit(X)
        return Answer(model.labels_, model.n_iter_ if n_init == 1 else None)

    return run


def mini_batch(X: np.ndarray, k: int, seed: int) -> Answer:
    return Answer(MiniBatchKMeans(k, random_state=seed).fit_predict(X))


def median_gamma(X: np.ndarray, seed: int) -> float:
    """The coefficient of a Gaussian kernel whose bandwidth is the median distance between rows."""
    chosen = np.random.default_rng(seed).permutation(len(X))[:_MEDIAN_ROWS]
    distances = euclidean_distances(X[chosen])[np.triu_indices(len(chosen), k=1)]
    return float(1 / (2 * np.median(distances) ** 2))


def kmeans_on(sampler: Any) -> Callable[[np.ndarray, int, int], Answer]:
    """KMeans(10) on the features of a scikit-learn kernel approximation."""

    def run(X: np.ndarray, k: int, seed: int) -> Answer:
        n_components = min(_COMPONENTS, len(X))
        features = sampler(gamma=median_gamma(X, seed), n_components=n_components, random_state=seed)
        return kmeans(10)(features.fit_transform(X), k, seed)

    return run


def spectral(X: np.ndarray, k: int, seed: int) -> Answer:
    return Answer(SpectralClustering(k, gamma=median_gamma(X, seed), random_state=seed).fit_predict(X))


def faiss(**parameters: Any) -> Callable[[np.ndarray, int, int], Answer]:
    def run(X: np.ndarray, k: int, seed: int) -> Answer:
        module = importlib.import_module("faiss")
        model = module.Kmeans(X.shape[1], k, seed=seed, min_points_per_centroid=1, **parameters)
        model.train(X)
        labels = model.index.search(X, 1)[1][:, 0]
        return Answer(labels, len(model.obj) if "nredo" not in parameters else None)

    return run


def fastkmeans(X: np.ndarray, k: int, seed: int) -> Answer:
    importlib.import_module("torch").set_num_threads(threads())
    model = importlib.import_module("fastkmeans").FastKMeans(X.shape[1], k, gpu=False, seed=seed)
    return Answer(model.fit_predict(X))


_OURS = {"module": "powerkmeans", "install": "powerkmeans"}
_FAISS = {"module": "faiss", "install": "faiss-cpu"}
ALL_ROWS = {"max_points_per_centroid": 2**31 - 1, "niter": 100, "nredo": 10}

METHODS: dict[str, dict[str, Method]] = {
    "features": {
        OURS: Method(ours(feature_map="identity", membership="fuzzy"), **_OURS),
        REFERENCE: Method(kmeans(10)),
        "KMeans(1)": Method(kmeans(1)),
        "MiniBatchKMeans": Method(mini_batch),
        "faiss": Method(faiss(), **_FAISS),
        "faiss, 10 starts": Method(faiss(**ALL_ROWS), **_FAISS),
        "fastkmeans": Method(fastkmeans, module="fastkmeans", install="fastkmeans"),
    },
    "raw": {
        OURS: Method(ours(), **_OURS),
        REFERENCE: Method(kmeans(10)),
        "KMeans(1)": Method(kmeans(1)),
        "KMeans(10), RBFSampler": Method(kmeans_on(RBFSampler), most_rows=100_000),
        "KMeans(10), Nystroem": Method(kmeans_on(Nystroem), most_rows=100_000),
        "SpectralClustering": Method(spectral, most_rows=5_000),
    },
}
