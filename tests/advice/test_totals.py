"""Clusters that follow the totals of counts: when it is said, when not, and that the way out works."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.advice.totals import about_totals, are_counts

QUICK = {"random_state": 0, "anneal_factor": 1.5}
SAID = r"clusters follow the totals of rows: (\d+)% of the variance of log totals .* tell (\d+)% of it.*'cosine'"


def counted(spread=0.8, effect=1.5, n_samples=240, n_clusters=4, seed=1):
    """Counts of 200 genes in cells of different depths, and their types, each with some genes of its own."""
    rng = np.random.default_rng(seed)
    own = effect * (rng.random((n_clusters, 200)) < 0.1)
    profile = np.exp(rng.normal(0, 1.5, 200) + own)
    y = rng.integers(n_clusters, size=n_samples)
    depth = 2000 * np.exp(spread * rng.normal(size=n_samples))
    mean = depth[:, None] * (profile / profile.sum(axis=1, keepdims=True))[y]
    return rng.poisson(mean * rng.gamma(10, 0.1, mean.shape)).astype(float), y


X, Y = counted()
LOGS = np.log1p(1e4 * X / X.sum(axis=1, keepdims=True))


def told(model, X, **fit):
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        model.fit(X, **fit)
    return model, "\n".join(str(one.message) for one in record)


@pytest.fixture(scope="module")
def raw():
    return told(KernelPowerKMeans(4, feature_map="nystroem", **QUICK), X)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_counts_of_varying_depth(raw, form):
    model, text = (
        raw if form is np.asarray else told(KernelPowerKMeans(4, feature_map="nystroem", **QUICK), form(X))
    )
    found = re.search(SAID, text)
    assert found, text
    assert int(found[1]) > 60
    assert int(found[2]) < 10
    assert adjusted_rand_score(Y, model.labels_) < 0.2


@pytest.mark.parametrize(("settings", "rows"), [({"metric": "cosine"}, X), ({}, LOGS)])
def test_what_it_asks_for_helps(settings, rows):
    model, text = told(KernelPowerKMeans(4, **QUICK, **settings), rows)
    assert "totals" not in text
    assert adjusted_rand_score(Y, model.labels_) > 0.95


def test_of_several_views_it_names_the_one_of_counts():
    size = np.log(X.sum(axis=1, keepdims=True))
    other = 5 * (size - size.mean()) + np.random.default_rng(0).normal(size=(len(X), 3))
    present = np.ones((len(X), 2), dtype=bool)
    present[:30, 0] = False
    for feature_map in ("nystroem", "graph"):
        model = MultiViewPowerKMeans(4, feature_map=feature_map, **QUICK)
        _, text = told(model, {"cells": X[::2], "other": other[::2]}, present=present[::2])
        assert "view 'cells': clusters follow the totals" in text
        assert "view 'other': clusters follow" not in text


def test_nothing_is_said_without_advice(raw):
    _, text = told(KernelPowerKMeans(4, feature_map="nystroem", advice=False, **QUICK), X)
    assert text == ""


def test_the_share_is_that_between_clusters(raw):
    model, _ = raw
    size, labels = np.log(X.sum(axis=1)), model.labels_
    within = sum(np.sum((size[labels == c] - size[labels == c].mean()) ** 2) for c in range(4))
    plain, chance = 1 - within / np.sum((size - size.mean()) ** 2), 3 / (len(X) - 1)
    found = re.search(SAID, about_totals(X, labels))  # all rows, as they are few
    assert int(found[1]) == pytest.approx(100 * (plain - chance) / (1 - chance), abs=0.51)


def test_rows_of_more_weight_count_more(raw):
    model, _ = raw
    assert about_totals(X, model.labels_, np.ones(len(X))) == about_totals(X, model.labels_)
    deep = X.sum(axis=1) > np.median(X.sum(axis=1))
    assert about_totals(X, model.labels_, np.where(deep, 1.0, 1e-9)) != about_totals(X, model.labels_)
    few = np.arange(len(X)) < 60
    assert about_totals(X, np.where(few, model.labels_, -1)) is None  # too few, without those of no cluster


def real(name):
    return getattr(datasets, f"load_{name}")(return_X_y=True)


@pytest.mark.parametrize("name", ["digits", "iris", "wine", "breast_cancer"])
@pytest.mark.parametrize("whole", [False, True])
def test_ordinary_tables_say_nothing(name, whole):
    rows, y = real(name)
    rows = np.rint(10 * rows) if whole else rows
    found = KMeans(len(set(y)), n_init=1, random_state=0).fit_predict(rows)
    assert about_totals(rows, y) is None
    assert about_totals(rows, found) is None


def test_totals_that_are_the_clusters_say_nothing():
    rng = np.random.default_rng(0)
    severe = rng.integers(3, size=300)
    answers = np.clip(np.rint(0.8 + 1.2 * severe[:, None] + rng.normal(size=(300, 20))), 0, 4)
    assert about_totals(answers, severe) is None  # without their totals they differ by chance
    cells, types = counted(spread=0.0)
    cells *= (1 + types)[:, None]  # types of different sizes, which are told by their genes too
    assert about_totals(cells, types) is None


def test_rows_without_totals_to_follow_say_nothing(raw):
    labels = raw[0].labels_
    assert about_totals(X / np.linalg.norm(X, axis=1)[:, None], labels) is None  # at unit length already
    assert about_totals(X, np.zeros(len(X), dtype=int)) is None  # one cluster
    assert about_totals(X - 1, labels) is None  # no counts
    empty = X.copy()
    empty[:5] = 0
    assert "clusters follow" in about_totals(empty, labels)


def test_counts_are_whole_or_mostly_zero():
    assert all(map(are_counts, [X, csr_array(X), csr_array(np.eye(12) / 3)]))
    assert not any(map(are_counts, [X + 0.5, -X, csr_array(-np.eye(12)), np.full((2, 12), np.nan)]))
    assert not are_counts(X[:, :9])  # answers from 1 to 5, codes: columns beside each other
