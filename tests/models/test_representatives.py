"""A row and means for each cluster: in any form of rows, by any engine, as their definition says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import powerkmeans
from helpers import blobs, make_present, quick
from powerkmeans import MultiViewPowerKMeans, open_source
from powerkmeans.engines import NumpyOptions
from powerkmeans.exceptions import ModelFileError

X, _ = blobs(spread=1.0)
WEIGHT = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)


def expected_medoids(model, X, weight, **given):
    distance, labels = model.transform(X, **given), model.predict(X, **given)
    own = np.where((labels[:, None] == np.arange(model.n_clusters)) & (weight[:, None] > 0), distance, np.inf)
    return np.where(np.isfinite(own.min(axis=0)), own.argmin(axis=0), -1).tolist()


def expected_means(labels, rows, weight, k):
    return np.array([np.average(rows[labels == j], axis=0, weights=weight[labels == j]) for j in range(k)])


@pytest.fixture(scope="module", params=["nystroem", "graph", "exact"])
def model(request):
    return quick(3, feature_map=request.param, random_state=0).fit(X)


def test_they_are_what_their_definition_says(model):
    for given in ({}, {"sample_weight": WEIGHT}):
        weight = given.get("sample_weight", np.ones(len(X)))
        assert model.medoid_indices(X, **given).tolist() == expected_medoids(model, X, weight)
        np.testing.assert_allclose(model.cluster_means(X, **given), expected_means(model.labels_, X, weight, 3))
    assert model.labels_[model.medoid_indices(X)].tolist() == [0, 1, 2]


def test_a_fit_knows_its_own_medoids(model, tmp_path):
    expected = model.medoid_indices(X)
    assert model.medoid_indices_.tolist() == expected.tolist()
    model.save(tmp_path / "model.npz")
    assert powerkmeans.load(tmp_path / "model.npz").medoid_indices_.tolist() == expected.tolist()
    if model.feature_map != "graph":  # whose rows amid a cluster are equally near, to rounding
        plain = quick(3, feature_map=model.feature_map, engine="numpy", random_state=0).fit(X)
        assert plain.medoid_indices_.tolist() == expected.tolist()


@pytest.mark.parametrize("feature_map", ["identity", "rff"])
def test_medoids_of_a_fit_are_of_rows_that_count(feature_map, monkeypatch):
    monkeypatch.setattr("powerkmeans.compute.rows.rows_per_block", lambda *_, **__: 7)
    order = np.argsort(X[:, 0])  # so that blocks lack clusters
    model = quick(4, feature_map=feature_map, random_state=0).fit(X[order], sample_weight=WEIGHT[order])
    expected = model.medoid_indices(X[order], sample_weight=WEIGHT[order])
    assert model.medoid_indices_.tolist() == expected.tolist()
    assert np.all(WEIGHT[order][expected] > 0)


def test_medoids_are_not_told_where_they_are_not_known(tmp_path):
    with pytest.raises(AttributeError, match="not fitted"):
        quick(3).medoid_indices_  # noqa: B018
    model = quick(3, feature_map="identity", random_state=0).fit(X)
    model.save(tmp_path / "model.npz")
    model.partial_fit(X)
    with pytest.raises(AttributeError, match=r"learnt from a stream since .* Use medoid_indices\(X\)"):
        model.medoid_indices_  # noqa: B018
    assert not hasattr(model, "medoid_indices_")
    with np.load(tmp_path / "model.npz") as file:
        arrays = dict(file)
    arrays["medoids"] = arrays["medoids"] + len(X)
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(ModelFileError, match="'medoids' names a row that there is not"):
        powerkmeans.load(tmp_path / "bad.npz")


def test_empty_clusters_and_equal_rows(model):
    alone = np.repeat(X[model.labels_ == 1][:1], 3, axis=0)
    assert model.medoid_indices(alone).tolist() == [-1, 0, -1]
    assert model.medoid_indices(alone, sample_weight=[0, 1, 1]).tolist() == [-1, 1, -1]
    assert np.isnan(model.cluster_means(alone)[:, 0]).tolist() == [True, False, True]


def test_a_loaded_model_and_a_file_that_is_read_in_blocks(tmp_path, monkeypatch):
    model = quick(3, feature_map="nystroem", random_state=0).fit(X)
    model.save(tmp_path / "model.npz")
    np.save(tmp_path / "rows.npy", X)
    expected = model.medoid_indices(X), model.cluster_means(X)
    monkeypatch.setattr("powerkmeans.compute.rows.rows_per_block", lambda *_, **__: 7)
    loaded = powerkmeans.load(tmp_path / "model.npz").set_params(engine=NumpyOptions(n_threads=2))
    rows = open_source(tmp_path / "rows.npy")
    assert np.array_equal(loaded.medoid_indices(rows), expected[0])
    np.testing.assert_allclose(loaded.cluster_means(rows), expected[1])


def test_views_with_gaps_sparse_ones_and_columns_as_they_were_passed():
    views = {"a": 100 * X[:, :3], "b": np.where(np.abs(X[:, 3:]) > 1, X[:, 3:], 0.0)}
    present = make_present(len(X), 2, np.random.default_rng(0))
    model = MultiViewPowerKMeans(
        3, feature_map="nystroem", metric={"a": "cosine", "b": "euclidean"}, random_state=0
    )
    model.fit(views, present=present)
    given = {"a": np.where(present[:, [0]], views["a"], np.nan), "b": csr_array(views["b"])}
    marked = {"present": {"b": present[:, 1]}}
    assert model.medoid_indices(given, **marked).tolist() == expected_medoids(
        model, views, np.ones(len(X)), present=present
    )
    means = model.cluster_means(given, **marked)
    assert list(means) == ["a", "b"]
    for index, name in enumerate(views):
        has = present[:, index]
        expected = expected_means(model.labels_[has], views[name][has], np.ones(has.sum()), 3)
        np.testing.assert_allclose(means[name], expected)


def test_single_precision_does_not_cost_digits_of_means():
    far = (X + 1e4).astype(np.float32)
    model = quick(3, feature_map="identity", random_state=0).fit(far)
    expected = expected_means(model.labels_, far.astype(np.float64), np.ones(len(X)), 3)
    np.testing.assert_allclose(model.cluster_means(far), expected, rtol=1e-12)
