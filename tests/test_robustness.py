"""Noise and outliers: possibilistic centroids hardly move, noise gets high scores, and no outlier costs digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import roc_auc_score

from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.metrics import clustering_accuracy

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


def one_far_off(far, dtype, seed=0):
    """Three clusters of plain columns, and one row that is far from all of them."""
    rng = np.random.default_rng(seed)
    y = np.arange(199) % 3
    X = rng.uniform(-8, 8, (3, 4))[y] + rng.normal(size=(199, 4))
    return np.vstack([X, np.full((1, 4), far)]).astype(dtype), y


@pytest.mark.parametrize("engine", ["auto", "numpy"])
@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
@pytest.mark.parametrize("s_init", ["auto", -20.0, -math.inf])
@pytest.mark.parametrize(("dtype", "far"), [(np.float32, 1e6), (np.float64, 1e12)])
def test_a_huge_outlier_does_not_hide_the_clusters(dtype, far, s_init, membership, engine):
    X, y = one_far_off(far, dtype)
    options = {"feature_map": "identity", "membership": membership, "engine": engine, "random_state": 0}
    model = KernelPowerKMeans(4, s_init=s_init, n_init=4, **options).fit(X)
    assert clustering_accuracy(y, model.labels_[:-1]) == 1
    assert np.sum(model.labels_ == model.labels_[-1]) == 1
    s, values = model.history_["s"], model.history_["objective"]
    rises = (np.diff(values) / values[:-1])[s[1:] == s[:-1]]
    # squares of lengths are rounded, of the outlier and of all others, whose mean it has moved
    rounded = np.finfo(dtype).eps ** 2 * 4 * far**2 / values[-1]
    assert np.max(rises, initial=0) <= 16 * rounded + 1e-6


@pytest.mark.parametrize("engine", ["auto", "numpy"])
@pytest.mark.parametrize("s_init", ["auto", -1.0])
@pytest.mark.parametrize(("dtype", "far"), [(np.float32, 1e7), (np.float32, 1e9), (np.float64, 1e17)])
def test_outliers_that_blur_the_others_are_told(dtype, far, s_init, engine):
    X, _ = one_far_off(far, dtype)
    with pytest.warns(UserWarning, match=r"far outliers: rows are .* from their mean.*feature_map='nystroem'"):
        KernelPowerKMeans(4, feature_map="identity", s_init=s_init, engine=engine, random_state=0).fit(X)


@pytest.mark.parametrize(("dtype", "far"), [(np.float32, 1e6), (np.float64, 1e10), (np.float64, 1e12)])
def test_outliers_that_do_no_harm_are_not_told(dtype, far):
    X, _ = one_far_off(far, dtype)
    KernelPowerKMeans(4, feature_map="identity", s_init=-20.0, random_state=0).fit(X)  # a warning is an error


def test_a_fit_that_ends_before_it_parts_the_others_tells():
    X, _ = one_far_off(1e15, np.float64)
    with pytest.warns(UserWarning, match="nothing beside far outliers"):
        KernelPowerKMeans(4, feature_map="identity", random_state=0).fit(X)
