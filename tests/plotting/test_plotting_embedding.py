"""Samples and centroids on a plane."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from plotting_helpers import RNG, VIEWS, X, texts, y

from helpers import make_present, quick, quick_views
from powerkmeans.plotting import EmbeddingDisplay

plt = pytest.importorskip("matplotlib.pyplot")


def drawn_points(display):
    offsets = [c.get_offsets() for c in display.ax_.collections]
    return np.concatenate(offsets)


def test_embedding_draws_every_sample_once_and_marks_outliers(possibilistic):
    spoiled = np.vstack([X, X.mean(axis=0) + 40, X.mean(axis=0) - 40])
    display = EmbeddingDisplay.from_estimator(possibilistic, spoiled)
    assert drawn_points(display).shape == (122, 2)
    assert set(np.argsort(possibilistic.outlier_score(spoiled))[-2:]) <= set(np.flatnonzero(display.outlier))
    n_outliers = int(np.sum(display.outlier))
    assert display.ax_.get_legend().texts[0].get_text() == f"{n_outliers} outliers"
    assert texts(display.ax_) == ["0", "1", "2"]


def test_embedding_by_pca_keeps_distances_of_the_feature_space(possibilistic):
    display = EmbeddingDisplay.from_estimator(possibilistic, X, method="pca")
    features = possibilistic._fit.model.maps[0](X, np)
    scores = np.linalg.svd(features - features.mean(axis=0), full_matrices=False)
    expected = scores[0][:, :2] * scores[1][:2]
    assert np.allclose(np.abs(display.points), np.abs(expected), atol=1e-6)
    nearest = [int(np.argmin(np.linalg.norm(display.centers - p, axis=1))) for p in display.points]
    assert np.mean(nearest == possibilistic.labels_) == 1


@pytest.mark.parametrize("feature_map", ["identity", "exact"])
def test_the_plane_of_the_centroids_comes_from_distances_alone(feature_map):
    model = quick(3, feature_map=feature_map, random_state=0).fit(X)
    display = EmbeddingDisplay.from_estimator(model, X, method="centroids")
    gaps = np.linalg.norm(display.centers[:, None] - display.centers, axis=2)
    if feature_map == "identity":  # three centroids lie in one plane
        centers = model.cluster_centers_
        assert np.allclose(gaps, np.linalg.norm(centers[:, None] - centers, axis=2))
        directions = np.linalg.svd(centers - centers.mean(axis=0))[2][:2]
        flat = (X - centers.mean(axis=0)) @ directions.T
        assert np.allclose(np.linalg.norm(display.points, axis=1), np.linalg.norm(flat, axis=1))
    nearest = [int(np.argmin(np.linalg.norm(display.centers - p, axis=1))) for p in display.points]
    assert np.array_equal(nearest, model.labels_)


def test_embedding_of_two_clusters_has_the_distance_from_their_line(fuzzy):
    model = quick(2, feature_map="identity", random_state=0).fit(X)
    display = EmbeddingDisplay.from_estimator(model, X, method="centroids")
    assert display.ax_.get_ylabel() == "distance from their line"
    distance = model.transform(X)
    assert np.allclose(np.linalg.norm(display.points - display.centers[0], axis=1), distance[:, 0])


def test_embedding_of_exact_kernels_missing_views_and_one_column():
    exact = quick(3, feature_map="exact", random_state=0).fit(X)
    assert EmbeddingDisplay.from_estimator(exact, X).ax_.get_xlabel() == "first direction of the centroids"
    with pytest.raises(ValueError, match="feature_map='exact' has no coordinates for method='pca'"):
        EmbeddingDisplay.from_estimator(exact, X, method="pca")
    present = make_present(120, 2, RNG)
    model = quick_views(3, random_state=0).fit(VIEWS, present=present)
    assert len(drawn_points(EmbeddingDisplay.from_estimator(model, VIEWS, present=present))) == 120
    line = quick(2, feature_map="identity", random_state=0).fit(X[:, :1])
    assert len(drawn_points(EmbeddingDisplay.from_estimator(line, X[:, :1]))) == 120


def test_embedding_of_many_samples_draws_some(fuzzy):
    display = EmbeddingDisplay.from_estimator(fuzzy, X, max_samples=50)
    assert len(drawn_points(display)) == 50
    again = EmbeddingDisplay.from_estimator(fuzzy, X[::-1], max_samples=50)
    assert np.allclose(np.sort(display.points[:, 0]), np.sort(again.points[:, 0]), atol=1e-5)  # by content


def test_embedding_by_umap_needs_it_installed(fuzzy, monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(ImportError, match=r"umap is needed for method='umap'.*pip install umap-learn"):
        EmbeddingDisplay.from_estimator(fuzzy, X, method="umap")
    with pytest.raises(ValueError, match="'method' parameter must be one of 'auto', 'pca', 'centroids', 'umap'"):
        EmbeddingDisplay.from_estimator(fuzzy, X, method="tsne")


def test_embedding_by_umap_takes_the_features(fuzzy, monkeypatch):
    class UMAP:
        def __init__(self, random_state):
            assert random_state == 0

        def fit_transform(self, features):
            return features[:, :2]

    module = type(sys)("umap")
    module.UMAP = UMAP
    monkeypatch.setitem(sys.modules, "umap", module)
    display = EmbeddingDisplay.from_estimator(fuzzy, X, method="umap")
    assert np.allclose(display.points, fuzzy._fit.model.maps[0](X, np)[:, :2])
    assert texts(display.ax_) == ["0", "1", "2"]


def test_embedding_from_predictions():
    display = EmbeddingDisplay.from_predictions(X[:, :2], y, outlier=np.arange(120) == 7)
    assert display.ax_.get_legend().texts[0].get_text() == "1 outlier"
