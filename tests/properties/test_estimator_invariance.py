"""What must not change a fitted model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from helpers import blobs
from powerkmeans import KernelPowerKMeans
from powerkmeans.metrics import clustering_accuracy

MAPS = ["rff", "orf", "nystroem", "identity"]
MEMBERSHIPS = ["fuzzy", "possibilistic"]


def fitted(X, weight=None, **parameters):
    parameters = {"n_clusters": 3, "feature_map": "nystroem", "random_state": 0, **parameters}
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


def test_order_of_rows_where_directions_tie():
    # two standardised columns: every principal direction is (1, 1) or (1, -1)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2)) + rng.normal(0, 2, (8, 2))[rng.integers(8, size=300)]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    first = fitted(X, n_clusters=8, feature_map="identity", init="cloud")
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(X))
        again = fitted(X[order], n_clusters=8, feature_map="identity", init="cloud")
        assert again.inertia_ == pytest.approx(first.inertia_, rel=1e-9)


@pytest.mark.filterwarnings("ignore::powerkmeans.exceptions.DataGuidanceWarning")  # flat
def test_nystroem_keeps_its_digits_on_flat_kernels_in_float32():
    X = np.random.default_rng(0).normal(size=(200, 5))
    X = X.astype(np.float32).astype(np.float64)  # the same values, so that no landmark differs
    base = fitted(X, feature_map="nystroem", bandwidth=1000.0)._fit.model.maps[0]
    half = replace(base, dtype="float32")
    pairs = [((f[:50, None] - f[None, 50:100]) ** 2).sum(axis=2) for f in (base(X, np), half(X, np))]
    assert pairs[1].dtype == np.float32
    assert np.median(np.abs(pairs[1] - pairs[0]) / pairs[0]) < 1e-4


@pytest.mark.parametrize("spread", [1e-3, 1e-4, 1e-5])
def test_tight_clusters_in_float32(spread):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(size=(5, 3)), 40, axis=0) + rng.normal(0, spread, (200, 3))
    X = X.astype(np.float32)
    single = fitted(X, n_clusters=5, feature_map="identity")
    double = fitted(X.astype(np.float64), n_clusters=5, feature_map="identity")
    assert single.inertia_ == pytest.approx(double.inertia_, rel=1e-3)
    assert single.transform(X).min(axis=1) == pytest.approx(double.transform(X).min(axis=1), rel=0.05)


def test_samples_on_a_centroid_have_distance_zero():
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 3)) + 100, 5, axis=0)
    model = fitted(X, n_clusters=4, feature_map="identity")
    assert np.max(model.transform(X).min(axis=1)) < 1e-12


def test_bandwidth_is_weighted_on_both_sides_of_the_sample_size():
    def bandwidth(light):
        rng = np.random.default_rng(1)
        X = np.concatenate([rng.normal(0, 1, (10, 2)), rng.normal(0, 1000, (light, 2))])
        weight = np.concatenate([np.full(10, 1e5), np.ones(light)])
        return fitted(X, weight, n_clusters=2, tol=1.0).bandwidth_

    assert bandwidth(2010) == pytest.approx(bandwidth(1990), rel=0.2)


def test_one_far_row_does_not_move_the_bandwidth():
    X, _ = blobs(spread=2.0)
    plain = fitted(X).bandwidth_
    for far in (1e6, 1e12, 1e100):
        assert fitted(np.vstack([X, [[far] * 5]])).bandwidth_ == pytest.approx(plain, rel=0.1)


def test_tiny_distances_between_far_groups_are_seen():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1e-10, (95, 2)), rng.normal(1, 1e-10, (5, 2))])
    assert 1e-10 < fitted(X, n_clusters=2).bandwidth_ < 3e-10


def test_sparse_rows_with_duplicate_entries():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(40, 4)) * (rng.random((40, 4)) < 0.6), 1)
    rows, columns = np.nonzero(X)
    halves = np.concatenate([X[rows, columns] / 2] * 2)
    data = sparse.coo_array((halves, (np.tile(rows, 2), np.tile(columns, 2))), shape=X.shape)
    doubled = sparse.csr_array((40, 4))
    doubled.indptr = np.concatenate([[0], np.cumsum(np.bincount(data.row, minlength=40))]).astype(np.int32)
    order = np.argsort(data.row, kind="stable")
    doubled.indices, doubled.data = data.col[order].astype(np.int32), data.data[order]
    assert not doubled.has_canonical_format
    assert fitted(doubled).inertia_ == pytest.approx(fitted(X).inertia_)
