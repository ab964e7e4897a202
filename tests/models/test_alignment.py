"""The score: what clusters explain, beside what a kernel lets them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

from helpers import blobs, make_present, quick
from powerkmeans import MultiViewPowerKMeans

X, _ = blobs(spread=1.5)
WEIGHT = np.random.default_rng(0).uniform(0.5, 2, len(X))


def expected_score(model, views, weight, cover):
    """By kernel matrices and distances to centroids, all at once."""
    fitted, share = model._fit.model, weight / np.sum(weight)
    explained, norm = 0.0, 0.0
    distances = np.zeros((len(weight), model.n_clusters))
    parts = zip(
        fitted.maps, views, cover.T, fitted.problem.view_slices, fitted.parameters.view_weights, strict=True
    )
    for feature_map, rows, q, columns, alpha in parts:
        features = feature_map(np.where(q[:, None] > 0, rows, 0.0), np).astype(np.float64)
        offset = features[:, None] - fitted.parameters.centers[:, columns]
        distances += alpha * q[:, None] * np.sum(offset**2, axis=2)
        explained += alpha * share @ (q * np.sum(features**2, axis=1))
        norm += alpha * np.sqrt((share * q) @ (features @ features.T) ** 2 @ (share * q))
    return (explained - share @ np.min(distances, axis=1)) / norm / np.sqrt(model.n_clusters - 1)


@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
@pytest.mark.parametrize("feature_map", ["nystroem", "rff", "identity", "graph"])
def test_the_score_is_the_alignment_of_the_kernel_with_the_clusters(feature_map, membership):
    model = quick(3, feature_map=feature_map, membership=membership, random_state=0).fit(X, sample_weight=WEIGHT)
    expected = expected_score(model, [X], WEIGHT, np.ones((len(X), 1)))
    assert model.score(X, sample_weight=WEIGHT) == pytest.approx(expected, rel=1e-6)
    assert 0 < expected <= 1


def test_views_add_by_their_weights_and_their_cover():
    views = [X[:, :3], X[:, 3:] + np.random.default_rng(1).normal(0, 3, (len(X), 2))]
    present = make_present(len(X), 2, np.random.default_rng(2))
    model = MultiViewPowerKMeans(3, feature_map="nystroem", random_state=0, advice=False).fit(
        views, present=present
    )
    expected = expected_score(model, views, WEIGHT, 2 * present / present.sum(axis=1, keepdims=True))
    assert model.score(views, present=present, sample_weight=WEIGHT) == pytest.approx(expected, rel=1e-6)


def test_an_exact_kernel_scores_as_its_features_do():
    given = {"kernel": "rbf", "bandwidth": 3.0, "random_state": 0}
    exact = quick(3, feature_map="exact", **given).fit(X)
    landmarks = quick(3, feature_map="nystroem", n_components=len(X), **given).fit(X)
    assert exact.score(X) == pytest.approx(landmarks.score(X), rel=1e-3)


def test_from_one_cluster_to_clusters_that_are_points():
    corners = np.repeat(4 * np.eye(3), 10, axis=0)
    assert quick(1, feature_map="identity", random_state=0).fit(X).score(X) == pytest.approx(0, abs=1e-9)
    assert quick(3, feature_map="identity", random_state=0).fit(corners).score(corners) == pytest.approx(1)


def test_many_rows_are_scored_by_some(monkeypatch):
    model = quick(3, feature_map="nystroem", random_state=0).fit(X)
    of_all = model.score(X)
    monkeypatch.setattr("powerkmeans.models.alignment.STATISTIC_ROWS", 100)
    assert model.score(X) != of_all
    assert model.score(X) == pytest.approx(of_all, rel=0.1)


@pytest.mark.parametrize("data", ["iris", "blobs"])
def test_a_search_over_bandwidths_takes_neither_the_flattest_nor_the_narrowest(data):
    k = 5 if data == "blobs" else 3
    Z = make_blobs(150, centers=k, n_features=5, random_state=0)[0] if data == "blobs" else scale(load_iris().data)
    median = quick(k, feature_map="nystroem", random_state=0).fit(Z).bandwidth_
    model = quick(k, feature_map="nystroem", random_state=0, advice=False, n_init=1)
    grid = {"bandwidth": (median * np.array([0.1, 0.5, 1, 30])).tolist()}
    found = GridSearchCV(model, grid, cv=2).fit(Z[np.random.default_rng(0).permutation(len(Z))])
    assert found.best_index_ in (1, 2)
