"""Background noise: it moves possibilistic centroids less than fuzzy ones, and gets the high outlier scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import roc_auc_score

from powerkmeans import MultiViewPowerKMeans

N_CLUSTERS, SIZE = 4, 100


def clusters_with_background(dimension, seed=0):
    """Four tight clusters, and 30 % of all samples spread evenly over a box around them."""
    rng = np.random.default_rng(seed)
    corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    centers = np.zeros((N_CLUSTERS, dimension))
    centers[:, :2] = corners
    if dimension > 2:
        centers = rng.permuted(
            np.repeat([[1.0], [-1.0]], dimension // 2, axis=0).T.repeat(N_CLUSTERS, axis=0), axis=1
        )
    clean = np.repeat(centers, SIZE, axis=0) + rng.normal(0, 0.15, (N_CLUSTERS * SIZE, dimension))
    noise = rng.uniform(-2.5, 2.5, (int(len(clean) * 0.3 / 0.7), dimension))
    return clean, np.vstack([clean, noise]), np.arange(len(clean) + len(noise)) >= len(clean)


def displacement(model, clean):
    """How far the centroids are from the means of the clean clusters, in feature space."""
    features = model._fit.model.maps[0].base(clean, np)
    truth = np.stack([part.mean(axis=0) for part in np.split(features, N_CLUSTERS)])
    distance = ((model.cluster_centers_[0][:, None] - truth) ** 2).sum(axis=2)
    return float(np.sqrt(np.mean(distance[linear_sum_assignment(distance)])))


@pytest.mark.parametrize("feature_map", ["rff", "identity"])
@pytest.mark.parametrize("dimension", [2, 10, 50])
def test_background_noise(dimension, feature_map, record_property):
    clean, X, is_noise = clusters_with_background(dimension)
    moved = {}
    for membership in ("possibilistic", "fuzzy"):
        model = MultiViewPowerKMeans(N_CLUSTERS, membership=membership, feature_map=feature_map, random_state=0)
        moved[membership] = displacement(model.fit(X), clean)
        if membership == "possibilistic":
            auc = roc_auc_score(is_noise, model.outlier_score(X))
    record_property("auc", float(auc))
    assert moved["possibilistic"] < moved["fuzzy"]
    assert auc > 0.95
