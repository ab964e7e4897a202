"""The defaults are not stuck where one run of k-means is not; ``python -m benchmarks.starts`` prints the table."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.datasets import FAMILIES
from sklearn.cluster import KMeans

from powerkmeans import KernelPowerKMeans

SEEDS = range(20)


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
