"""What must not change a fitted model."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import blobs
from powerkmeans import KernelPowerKMeans
from powerkmeans.metrics import clustering_accuracy

MAPS = ["rff", "orf", "nystroem", "identity"]
MEMBERSHIPS = ["fuzzy", "possibilistic"]


def fitted(X, weight=None, **parameters):
    parameters = {"n_clusters": 3, "random_state": 0, **parameters}
    return KernelPowerKMeans(**parameters).fit(X, sample_weight=weight)


@pytest.mark.parametrize("feature_map", MAPS)
@pytest.mark.parametrize("membership", MEMBERSHIPS)
def test_order_of_rows(feature_map, membership):
    X, _ = blobs(spread=2.0)
    order = np.random.default_rng(0).permutation(len(X))
    a = fitted(X, feature_map=feature_map, membership=membership)
    b = fitted(X[order], feature_map=feature_map, membership=membership)
    assert np.array_equal(a.labels_[order], b.labels_)
    assert b.cluster_centers_ == pytest.approx(a.cluster_centers_, abs=1e-8)


@pytest.mark.parametrize("feature_map", MAPS)
@pytest.mark.parametrize("membership", MEMBERSHIPS)
@pytest.mark.parametrize("init", ["auto", "random", "k-means"])
def test_weights_equal_repetition(feature_map, membership, init):
    X, _ = blobs(spread=2.0)
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    a = fitted(X, weight, feature_map=feature_map, membership=membership, init=init)
    b = fitted(np.repeat(X, weight, axis=0), feature_map=feature_map, membership=membership, init=init)
    assert a.transform(X) == pytest.approx(b.transform(X), abs=1e-7)
    assert a.inertia_ == pytest.approx(b.inertia_)
    assert a.objective_ == pytest.approx(b.objective_)


# Draws of rows (landmarks, k-means++) follow the rows' content, so a shifted or scaled copy of the data draws
# anew; the cloud needs no rows.
MOMENTS_ONLY = ["rff", "orf", "identity"]


@pytest.mark.parametrize("feature_map", MOMENTS_ONLY)
def test_translation_changes_nothing(feature_map):
    X, _ = blobs(spread=2.0)
    a, b = (fitted(data, feature_map=feature_map, init="cloud") for data in (X, X + 1000.0))
    assert np.array_equal(a.labels_, b.labels_)
    assert b.inertia_ == pytest.approx(a.inertia_, rel=1e-8)


@pytest.mark.parametrize("feature_map", MOMENTS_ONLY)
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_scale_changes_nothing(feature_map, scale):
    X, _ = blobs(spread=2.0)
    a, b = (fitted(data, feature_map=feature_map, init="cloud") for data in (X, X * scale))
    assert np.array_equal(a.labels_, b.labels_)
    assert np.all(np.isfinite(b.cluster_centers_))


@pytest.mark.parametrize("scale", [1e-30, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("feature_map", ["rff", "orf", "nystroem"])
def test_extreme_scales_find_the_same_clusters(feature_map, scale, dtype):
    X, y = blobs()
    model = fitted((X * scale).astype(dtype), feature_map=feature_map)
    assert clustering_accuracy(y, model.labels_) == 1.0
    assert np.all(np.isfinite(model.transform((X * scale).astype(dtype))))


def test_constant_columns_change_nothing():
    X, _ = blobs(spread=2.0)
    a = fitted(X, feature_map="identity")
    b = fitted(np.column_stack([X, np.full(len(X), 7.0)]), feature_map="identity")
    assert b.inertia_ == pytest.approx(a.inertia_, rel=1e-6)


def test_scaling_all_weights_changes_the_objective_alone():
    X, _ = blobs(spread=2.0)
    a, b = fitted(X), fitted(X, np.full(len(X), 7.5))
    assert np.array_equal(a.labels_, b.labels_)
    assert b.objective_ == pytest.approx(7.5 * a.objective_)
    assert b.score(X) == pytest.approx(a.score(X))


@pytest.mark.parametrize("feature_map", MOMENTS_ONLY)
def test_float32_far_from_the_origin_clusters_like_centred_data(feature_map):
    X, _ = blobs(spread=2.0)
    X = np.round(X * 8) / 8  # exact in float32 also at 1e6
    settings = {"feature_map": feature_map, "bandwidth": 6.0, "init": "cloud"}
    near, far = fitted(X.astype(np.float32), **settings), fitted((X + 1e6).astype(np.float32), **settings)
    assert np.mean(near.labels_ == far.labels_) > 0.99
    assert far.inertia_ == pytest.approx(near.inertia_, rel=1e-4)


def test_flat_kernels_keep_their_digits_in_float32():
    X = np.random.default_rng(0).normal(size=(200, 5))
    # the same model in both precisions: distances to given centroids
    given = {"init": X[:3], "s_init": -1.0, "max_iter": 1, "bandwidth": 1000.0}
    with pytest.warns(match="did not converge"):
        a = fitted(X, **given)
    with pytest.warns(match="did not converge"):
        b = fitted(X.astype(np.float32), **given)
    assert b.transform(X.astype(np.float32)) ** 2 == pytest.approx(a.transform(X) ** 2, rel=1e-4)
