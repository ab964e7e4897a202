"""The defaults are not stuck where one run of k-means is not; ``python -m benchmarks.starts`` prints the table."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.datasets import FAMILIES
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from powerkmeans import KernelPowerKMeans

SEEDS = range(8)


@pytest.mark.parametrize("feature_map", ["rff", "identity"])
@pytest.mark.parametrize("family", FAMILIES)
def test_mean_cost_is_not_above_one_run_of_k_means(family, feature_map):
    ours, theirs = [], []
    for seed in SEEDS:
        X, k = FAMILIES[family](np.random.default_rng(seed))
        model = KernelPowerKMeans(k, feature_map=feature_map, random_state=seed).fit(X)
        features = model._fit.model.maps[0](X, np)
        ours.append(model.inertia_)
        theirs.append(KMeans(k, n_init=1, random_state=seed).fit(features).inertia_)
    assert np.mean(ours) <= 1.01 * np.mean(theirs)


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
