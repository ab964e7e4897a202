"""Data and settings at the edge of what a graph of landmarks can do: an answer, or an error that names them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from helpers import blobs
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, explain_views
from powerkmeans.exceptions import DataGuidanceWarning
from powerkmeans.report.plane import project

X, Y = blobs(spread=1.0)
VIEWS = {"a": X[:, :3], "b": X[:, 2:]}


def fitted(rows, k=3, weight=None, **parameters):
    parameters = {"feature_map": "graph", "random_state": 0, "advice": False, "anneal_factor": 1.3, **parameters}
    return KernelPowerKMeans(k, **parameters).fit(rows, sample_weight=weight)


def several(views, k=3, present=None, **parameters):
    parameters = {"feature_map": "graph", "random_state": 0, "advice": False, "anneal_factor": 1.3, **parameters}
    return MultiViewPowerKMeans(k, **parameters).fit(views, present=present)


def right(labels):
    return adjusted_rand_score(Y, labels) == 1.0


def base_of(model):
    return model._fit.model.maps[0].base


def test_as_many_neighbours_as_landmarks():
    with pytest.raises(
        ValueError, match="n_neighbors=10 must be less than the number of landmarks, n_components=8"
    ):
        fitted(X, n_components=8, n_neighbors=10)
    assert right(fitted(X, n_components=8).labels_)  # "auto" takes fewer
    assert right(fitted(X, n_neighbors=1000).labels_)  # all rows are landmarks, whatever their number
    assert right(fitted(X, n_components=12, n_neighbors=2).labels_)


@pytest.mark.parametrize("rows", [[0, 50], [0, 50, 51, 1], [0, 1, 2, 50, 51, 52]])
def test_fewer_distinct_rows_than_neighbours(rows):
    model = fitted(np.repeat(X[rows], 5, axis=0), 2)
    assert adjusted_rand_score(Y[np.repeat(rows, 5)], model.labels_) == 1.0
    assert np.array_equal(model.predict(X[rows]), model.labels_[::5])


@pytest.mark.parametrize("feature_map", ["graph", "auto"])
def test_three_rows(feature_map):
    rows = np.repeat(X[[0, 50, 100]], 5, axis=0)
    assert len(np.unique(fitted(rows, 3, feature_map=feature_map).labels_)) == 3


@pytest.mark.parametrize("rows", [np.ones((20, 3)), np.ones((20, 3), dtype=np.float32)])
def test_nothing_but_duplicates(rows):
    with pytest.raises(ValueError, match=r"All rows are equal \(n_samples=20, 1 distinct\): there is nothing"):
        fitted(rows, 2)


def test_rows_that_differ_by_rounding():
    rows = np.full((20, 3), 7.0) + 1e-15 * np.arange(20)[:, None]
    with pytest.raises(ValueError, match=r"All views are constant \('X'\), so there is nothing to cluster\.$"):
        fitted(rows, 2)


def test_one_cluster_and_one_for_each_row():
    one = fitted(X, 1)
    assert not one.labels_.any()
    assert np.all(np.isfinite(one.outlier_score(X)))
    assert len(np.unique(fitted(X[:20], 20).labels_)) == 20


def test_isolated_rows():
    rows = np.vstack([X, [[1e3] * 5], [[-1e3] * 5]])
    model = fitted(rows)
    assert right(model.labels_[:-2])
    assert np.min(model.outlier_score(rows)[-2:]) > 0.99


@pytest.mark.parametrize("seed", range(3))
def test_more_pieces_than_clusters(seed):
    rng = np.random.default_rng(0)
    places = np.array([[0, 0], [10, 0], [5, 8], [1000, 0], [1010, 0], [1005, 8]])
    rows = np.concatenate([place + rng.normal(size=(25, 2)) for place in places])
    order = np.random.default_rng(seed).permutation(len(rows))
    with pytest.warns(
        DataGuidanceWarning, match=r"n_neighbors=10 the graph falls into more pieces.*so \d+ were taken"
    ):
        model = fitted(rows[order], 2, advice=True)
    assert adjusted_rand_score(np.repeat([0, 1], 75)[order], model.labels_) == 1.0
    assert base_of(model).n_neighbors > 10


def test_rows_that_share_no_view_with_a_landmark():
    model = several(VIEWS, present=first_ones(2), n_components=12, random_state=1)
    assert not np.any(base_of(model).landmarks[:, -1] > 0)
    rows = {name: view[:3] for name, view in VIEWS.items()}
    mixed = np.array([[True, True], [False, True], [True, False]])
    message = re.escape("Sample 1 has no view in common with any landmark")
    for answer in ("predict", "predict_proba", "transform"):
        with pytest.raises(ValueError, match=message):
            getattr(model, answer)(rows, present=mixed)
    labels = model.predict(rows, present=mixed, noise_threshold=0.999)
    assert labels[1] == -1
    assert np.all(labels[[0, 2]] >= 0)
    assert model.outlier_score(rows, present=mixed)[1] == 1


def first_ones(count):
    """All rows have the first view, so many the second, which none of few landmarks has then."""
    present = np.ones((len(X), 2), dtype=bool)
    present[count:, 1] = False
    return present


def test_a_training_row_that_shares_no_view_with_a_landmark():
    present = first_ones(2)
    present[0, 0] = False
    with pytest.raises(ValueError, match="Sample 0 has no view in common with any landmark, so nobody is near it"):
        several(VIEWS, present=present, n_components=12, random_state=1)


def test_zero_rows_have_no_direction():
    rows = np.vstack([X, np.zeros((2, 5))])
    model = fitted(rows, metric="cosine")
    assert np.all(np.isfinite(model.transform(rows)))
    assert right(fitted(X * np.arange(1, 121)[:, None], metric="cosine").labels_)


def test_rows_that_point_one_way():
    rows = np.outer(np.arange(1.0, 30), [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="nothing to cluster"):
        fitted(rows, metric="cosine")


def test_constant_views():
    views = {**VIEWS, "blank": np.ones((len(X), 2))}
    with pytest.warns(
        DataGuidanceWarning, match=r"^view 'blank' is constant and gets the weight 0. Leave it out.$"
    ):
        model = several(views, advice=True)
    assert right(model.labels_)
    assert model.view_weights_[2] == 0
    assert np.array_equal(model.predict(views), model.labels_)
    assert np.isnan(explain_views(model, views)["explained"][2])


def test_columns_that_do_not_vary_and_one_column():
    assert right(fitted(np.hstack([X, np.full((len(X), 3), 7.0)])).labels_)
    rows = np.repeat([0.0, 5.0, 9.0], 30)[:, None] + np.random.default_rng(0).normal(0, 0.3, (90, 1))
    assert adjusted_rand_score(np.repeat([0, 1, 2], 30), fitted(rows).labels_) == 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_far_row(dtype):
    rows = np.vstack([X, [[1e12] * 5]]).astype(dtype)
    model = fitted(rows)
    assert right(model.labels_[:-1])
    assert model.outlier_score(rows)[-1] == pytest.approx(1)
    views = {"a": rows[:, :3], "b": np.vstack([X, X[:1]])[:, 2:].astype(dtype)}
    model = several(views)
    assert right(model.labels_[:-1])
    assert min(model.view_weights_) > 0.3


def test_wide_rows():
    noise = np.random.default_rng(1).normal(size=(len(X), 400)) / 2
    assert right(fitted(np.hstack([X, noise]).astype(np.float32)).labels_)


@pytest.mark.parametrize("scale", [1e160, 1e-160])
def test_squares_beyond_double_precision(scale):
    word = "overflow" if scale > 1 else "underflow"
    with pytest.raises(ValueError, match=f"Squared distances in view 'X' {word} float64; rescale the data"):
        fitted(X * scale)
    with pytest.raises(ValueError, match=f"Squared distances in view 'b' {word} float64; rescale the data"):
        several({"a": X[:, :3], "b": X[:, 2:] * scale})


def test_new_rows_beyond_double_precision():
    with pytest.raises(ValueError, match=r"Squared distances overflow float64 \(row 1\)"):
        fitted(X).predict([[0.0] * 5, [1e200] * 5])


OF_KERNELS = {"kernel": "laplacian", "bandwidth": 2.0}
OF_VIEWS = {"entropy": 1.0, "view_scaling": None, "view_baseline": None, **OF_KERNELS}


@pytest.mark.parametrize("name", OF_VIEWS)
def test_settings_of_kernels(name):
    setting = {name: OF_VIEWS[name]}
    with pytest.raises(ValueError, match=rf"^{name}={OF_VIEWS[name]!r} has no meaning with feature_map='graph'"):
        several(VIEWS, **setting)
    assert base_of(several(VIEWS, feature_map="auto", **setting)).packing.name == "nystroem"
    if name in OF_KERNELS:
        with pytest.raises(ValueError, match=rf"^{name}=.* has no meaning with feature_map='graph'"):
            fitted(X, **setting)
        assert base_of(fitted(X, feature_map="auto", **setting)).packing.name == "nystroem"


@pytest.mark.parametrize("maps", [{"a": "graph"}, ["graph", "rff"], {"a": "nystroem", "b": "graph"}])
def test_a_graph_beside_another_map(maps):
    with pytest.raises(
        ValueError, match="feature_map='graph' makes one map of all views; give it for all of them"
    ):
        several(VIEWS, feature_map=maps)


def test_a_matrix_of_kernels():
    gram = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 10)
    model = fitted(gram, feature_map="auto", kernel="precomputed")
    assert base_of(model).packing.name == "exact"
    with pytest.raises(ValueError, match="kernel='precomputed' has no meaning with feature_map='graph'"):
        fitted(gram, kernel="precomputed")


def test_given_centroids():
    rows = [0, 50, 100]
    model = fitted(X, init=X[rows])
    assert model.labels_[rows].tolist() == [0, 1, 2]
    again = fitted(X, init=model.cluster_centers_)
    assert np.array_equal(again.labels_, model.labels_)
    with pytest.raises(
        ValueError, match=r"expected 5 columns \(points of the data\) or 3 \(points of the feature"
    ):
        fitted(X, init=np.ones((3, 7)))


def test_given_centroids_of_several_views():
    rows = [0, 50, 100]
    views = {"a": X[:, :2], "b": X[:, 2:]}
    model = several(views, init={name: view[rows] for name, view in views.items()})
    assert model.labels_[rows].tolist() == [0, 1, 2]
    assert [table.shape for table in model.cluster_centers_] == [(3, 3)]
    again = several(views, init=model.cluster_centers_)
    assert np.array_equal(again.labels_, model.labels_)
    table = X[rows][:, :3]  # the same for both, which are as wide: points of the data
    assert np.array_equal(several(VIEWS, init=[table, table]).labels_[rows[:1]], [0])
    with pytest.raises(ValueError, match=r"\(3, 7\) does not match the data: expected 3 columns"):
        several(VIEWS, init=[np.ones((3, 7))])
    with pytest.raises(ValueError, match=r"\(3, 4\) does not match the data: expected 3 columns"):
        several(VIEWS, init=[np.ones((3, 4)), np.ones((3, 4))])
    with pytest.raises(ValueError, match="init must be a list or dict of one table"):
        several(VIEWS, init=[np.ones((3, 3))], feature_map="nystroem")


def test_weights_of_zero():
    weight = np.ones(len(X))
    weight[::3] = 0
    model = fitted(X, weight=weight)
    assert right(model.labels_)
    assert np.array_equal(fitted(X[weight > 0]).labels_, model.labels_[weight > 0])
    with pytest.raises(ValueError, match="All rows of positive weight are equal"):
        fitted(X, weight=np.eye(len(X))[0])


def test_views_that_one_landmark_has():
    model = several(VIEWS, present=first_ones(3))
    table = explain_views(model, VIEWS, present=first_ones(3))
    assert table["coverage"].tolist() == [1.0, 3 / len(X)]
    assert np.all(np.isfinite(table["agreement"]))
    model = several(VIEWS, present=first_ones(2), n_components=12, random_state=1)
    assert np.all(np.isfinite(explain_views(model, VIEWS, present=first_ones(2))["agreement"]))


def test_samples_that_lack_a_view_are_no_outliers_for_that():
    present = np.ones((len(X), 2), dtype=bool)
    present[::5, 1] = False
    scores = several(VIEWS, present=present).outlier_score(VIEWS, present=present)
    assert np.median(scores[::5]) < np.median(scores[present[:, 1]]) + 0.1
    assert np.all(scores[::5] < 0.75)


def test_pictures_show_samples_and_not_only_clusters():
    """In the coordinates of a graph all samples of a cluster may be in one place."""
    model = several(VIEWS, n_neighbors=5)
    views = model._check_new(VIEWS, None, None)
    points = project(model, views, np.arange(len(X)), model.labels_).widest.points
    spread = [np.std(points[model.labels_ == cluster], axis=0).max() for cluster in range(3)]
    assert min(spread) > 0.01 * np.std(points)
    assert adjusted_rand_score(model.labels_, KMeans(3, n_init=3, random_state=0).fit_predict(points)) > 0.9
