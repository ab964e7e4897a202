"""Columns that tell clusters apart: the test by loops, and what it saves of a graph among hundreds of columns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import f_oneway

from helpers import blobs, quick
from powerkmeans.features.graph import choice
from powerkmeans.features.graph.telling import chance_of, telling_columns
from powerkmeans.metrics import clustering_accuracy


def rows_of(n_noise, seed=0, distance=2.0):
    """Four clusters in ten columns, shuffled among as many as told that say nothing, at the same scale."""
    rng = np.random.default_rng(seed)
    y = np.arange(400) % 4
    X = np.concatenate([rng.normal(0, distance, (4, 10))[y], np.zeros((400, n_noise))], axis=1)
    X += rng.normal(size=X.shape)
    return X / np.std(X, axis=0), y


def test_chance_is_that_of_the_f_test():
    X, y = rows_of(5)
    expected = [f_oneway(*(column[y == c] for c in range(4))).pvalue for column in X.T]
    assert chance_of(X, np.full(400, 0.3), y) == pytest.approx(np.array(expected), abs=1e-12)
    assert np.array_equal(chance_of(X, np.ones(400), np.zeros(400, int)), np.ones(15))
    assert chance_of(np.ones((6, 1)), np.ones(6), np.arange(6) % 2) == 1  # a constant column


def test_telling_columns_are_kept_by_view_and_of_rows_that_have_it():
    X, y = rows_of(6)
    present = np.ones((400, 2))
    present[::3, 1] = 0
    X[::3, 8:] = 1e6 * y[::3, None]  # absent, so nobody looks at it
    found = telling_columns(np.concatenate([X, present], axis=1), np.ones(400), (0, 8, 16), y)
    assert found.shape[0] == 16
    kept = np.flatnonzero(found.any(axis=1))
    assert set(range(10)) <= set(kept)
    assert len(kept) <= 13
    assert np.array_equal(np.sort(found.sum(axis=1)), np.sort(found.any(axis=1)))


def test_a_view_without_a_telling_column_keeps_one():
    rows = np.random.default_rng(0).normal(size=(60, 3))
    labels = np.zeros(60, int)
    labels[0] = 1
    rows[0] = 0
    assert telling_columns(rows, np.ones(60), (0, 3), labels).shape == (3, 1)


def test_few_columns_among_hundreds_are_found(monkeypatch):
    X, y = rows_of(390)
    model = quick(4, feature_map="graph", random_state=0).fit(X)
    assert clustering_accuracy(y, model.labels_) > 0.97
    monkeypatch.setattr(choice, "TELLING_ROUNDS", 0)
    edge = quick(4, feature_map="graph", random_state=0).fit(X)
    assert clustering_accuracy(y, edge.labels_) < clustering_accuracy(y, model.labels_) - 0.1


def test_clear_graphs_keep_all_columns(monkeypatch):
    X, _ = blobs(3, 4, 40, 0.5)
    monkeypatch.setattr(choice, "telling_columns", None)  # nobody asks
    quick(3, feature_map="graph", random_state=0).fit(X)
