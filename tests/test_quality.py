"""The defaults are not stuck where one run of k-means is not; ``python -m benchmarks.starts`` prints the table."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.datasets import FAMILIES, uneven_topics
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from powerkmeans import KernelPowerKMeans

SEEDS = range(5)


@pytest.mark.parametrize("feature_map", ["rff", "identity"])
@pytest.mark.parametrize("family", FAMILIES)
def test_mean_cost_is_not_above_one_run_of_k_means(family, feature_map):
    ours, theirs = [], []
    for seed in SEEDS:
        X, k = FAMILIES[family](np.random.default_rng(seed))
        model = KernelPowerKMeans(k, feature_map=feature_map, random_state=seed, advice=False).fit(X)
        features = model._fit.model.maps[0](X, np)
        ours.append(model.inertia_)
        theirs.append(KMeans(k, n_init=1, random_state=seed).fit(features).inertia_)
    assert np.mean(ours) <= 1.01 * np.mean(theirs)


MAPS = {
    "precomputed": {"feature_map": "exact", "kernel": "precomputed"},
    "exact": {"feature_map": "exact"},
    "nystroem": {"n_components": 400},
    "rff": {"feature_map": "rff", "n_components": 400},
    "identity": {"feature_map": "identity"},
}


@pytest.mark.parametrize("name", MAPS)
def test_small_clusters_beside_a_large_one_are_found_where_most_of_the_cost_is_noise(name):
    """No fit costs more than k-means from the topics themselves, however little it costs to cut the large one."""
    X, k = uneven_topics(np.random.default_rng(0))
    rows = X @ X.T if name == "precomputed" else X
    for seed in range(3):
        model = KernelPowerKMeans(k, random_state=seed, **MAPS[name]).fit(rows)
        features = rows_of(model, X)
        start = np.array([features[uneven_topics.topics == j].mean(axis=0) for j in range(k)])
        best = KMeans(k, init=start, n_init=1, tol=0).fit(features).inertia_
        assert model.inertia_ <= 1.0001 * best


def rows_of(model, X):
    """What a fitted model clusters, in coordinates."""
    feature_map = model._fit.model.maps[0]
    if not feature_map.dual:
        return feature_map(X, np)
    values, vectors = np.linalg.eigh(
        X @ X.T if model.kernel == "precomputed" else rbf_kernel(X, gamma=0.5 / model.bandwidth_**2)
    )
    return vectors * np.sqrt(np.maximum(values, 0))


REAL = {"iris": (load_iris, 3), "wine": (load_wine, 3), "breast cancer": (load_breast_cancer, 2)}


@pytest.mark.parametrize("feature_map", ["rff", "nystroem", "identity"])
@pytest.mark.parametrize("name", REAL)
def test_overlapping_clusters_are_followed_to_the_end(name, feature_map):
    load, k = REAL[name]
    X = StandardScaler().fit_transform(load().data)
    for seed in range(3):
        model = KernelPowerKMeans(k, feature_map=feature_map, random_state=seed).fit(X)
        features = model._fit.model.maps[0](X, np)
        assert model.inertia_ <= 1.01 * KMeans(k, n_init=10, random_state=seed).fit(features).inertia_
