"""Clusters of uneven sizes: coordinates over the common direction, and when they are taken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.preprocessing import StandardScaler
from tests import oracle

from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, load, save
from powerkmeans.features.graph import choice
from powerkmeans.features.graph.build import GraphSize, Rows, tied_graph
from powerkmeans.features.graph.build import even_landmarks as landmarks_of
from powerkmeans.features.graph.placing import Placing, origin_of
from powerkmeans.features.graph.uneven import LIFTED, cut_by, least_cut, over_common
from powerkmeans.features.maps.base import Tools
from powerkmeans.metrics import clustering_accuracy


def clouds(sizes, apart, seed, columns=2):
    """Clouds of unit variance, the first at the origin and each of the others so far from it along a column."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    centers = apart * np.eye(len(sizes), columns, -1)
    order = rng.permutation(len(y))
    return (centers[y] + rng.normal(size=(len(y), columns)))[order], y[order]


def graph_of(X, weight, k, n_neighbors=5):
    columns = X.shape[1]
    rows = Rows(X, weight, Tools(cluster=lambda features, *_: np.zeros(len(features), dtype=np.intp)))
    placing = Placing(origin_of(X, (0, columns)), (0, columns))
    landmarks = landmarks_of(placing(X, np), (0, columns))
    return tied_graph(rows, placing, landmarks, GraphSize(len(X), n_neighbors, k)).along(k)


def fitted(X, k, **parameters):
    return KernelPowerKMeans(k, random_state=0, advice=False, **parameters).fit(X)


def without(monkeypatch, fit):
    """What a fit would be if only coordinates at unit length were known."""
    with monkeypatch.context() as patch:
        patch.setattr(choice, "_of_uneven_sizes", lambda *_: None)
        return fit()


def some_graph(seed=0, n=60):
    rng = np.random.default_rng(seed)
    X, weight = clouds((n - 12, 12), 4.0, seed)[0], rng.uniform(0.5, 2, n)
    return graph_of(X, weight, 3), weight


def in_pieces():
    X = np.concatenate([clouds((30, 10), 4.0, 0)[0], clouds((40,), 1.0, 1)[0] + 100])
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    return graph_of(X, weight, 3), weight


@pytest.mark.parametrize(("made", "n_pieces"), [(some_graph, 1), (in_pieces, 2)])
def test_coordinates_over_the_common_direction_are_eigenvectors_of_the_random_walk(made, n_pieces):
    graph, weight = made()
    assert graph.n_pieces == n_pieces  # which have a part of the common direction each
    features = over_common(graph, weight).features
    expected = oracle.over_common(oracle.row_ties(graph.shares.toarray(), weight), 3)
    # a row is (LIFTED, t) at unit length: lengths tell |t|, and products then what there is beside LIFTED
    length = np.sqrt(LIFTED**2 + np.diag(expected))
    found = features @ features.T * np.outer(length, length) - LIFTED**2
    # eigenvectors are off by 1e-12 over the distance to the next eigenvalue
    assert found == pytest.approx(expected, abs=1e-9 * LIFTED**2)
    assert np.linalg.norm(features, axis=1) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_normalised_cut(seed):
    graph, weight = some_graph(seed)
    ties = oracle.row_ties(graph.shares.toarray(), weight)
    rng = np.random.default_rng(seed)
    for k in (1, 2, 3):
        labels = np.r_[:k, rng.integers(k, size=len(weight) - k)]
        found = cut_by(labels, graph.shares, weight)
        assert found == pytest.approx(oracle.normalised_cut(ties, labels), abs=1e-12)
        assert k == 1 or found >= least_cut(graph, k) - 1e-12
    assert cut_by(2 * labels, graph.shares, weight) == pytest.approx(found, abs=1e-12)  # a cluster without rows


@pytest.mark.parametrize(
    ("sizes", "apart", "before", "now"), [((800, 80), 5.0, 2, 5), ((2000, 100, 100), 6.0, 1, 3)]
)
def test_a_few_beside_many_in_the_plane(sizes, apart, before, now, monkeypatch):
    # draws that nobody chose: with a tenth of luck less or more they would be found or not
    drawn = [clouds(sizes, apart, seed) for seed in range(100, 107)]

    def found():
        return sum(clustering_accuracy(y, fitted(X, len(sizes)).labels_) > 0.98 for X, y in drawn)

    assert without(monkeypatch, found) <= before
    assert found() >= now


@pytest.mark.parametrize("seed", range(4))
def test_a_tight_clump_beside_clusters_that_overlap(seed, monkeypatch):
    # one cluster more would be clearer: what is far away would cost one of those that are sought
    rng, y = np.random.default_rng(seed), np.repeat(np.arange(3), 270)
    X = rng.normal(size=(810, 2)) + 3.6 * np.array([[0, 0], [1, 0], [0.5, 0.87]])[y]
    X = np.r_[X, rng.normal((1.8, 8), 0.3, (40, 2))]
    tried = []
    monkeypatch.setattr(choice, "over_common", lambda *given: tried.append(given))
    assert fitted(X, 3).feature_map_ == "graph"
    assert not tried


def test_what_is_made_of_them(tmp_path):
    X, y = clouds((800, 80), 5.0, 4)
    for dtype in (np.float64, np.float32):
        rows = X.astype(dtype)
        model = fitted(rows, 2, feature_map="graph")
        assert clustering_accuracy(y, model.labels_) > 0.99
        assert np.array_equal(model.predict(rows), model.labels_)
        assert clustering_accuracy(y, fitted(rows, 2, engine="numpy").labels_) > 0.99
        save(model, tmp_path / "model.npz", overwrite=True)
        assert np.array_equal(load(tmp_path / "model.npz").predict(rows), model.labels_)
    weighed = fitted(np.r_[X, X], 2, feature_map="graph")
    assert np.array_equal(weighed.labels_, np.tile(weighed.labels_[:880], 2))
    views = [X, X + 0.1 * np.cos(7 * X)]
    several = MultiViewPowerKMeans(2, random_state=0, advice=False).fit(views)
    assert np.array_equal(several.predict(views), several.labels_)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_outliers_cut_little_and_are_no_clusters(k, monkeypatch):
    X = StandardScaler().fit_transform(load_iris().data)
    assert np.array_equal(fitted(X, k).labels_, without(monkeypatch, lambda: fitted(X, k)).labels_)


@pytest.mark.parametrize("seed", range(3))
def test_shapes_keep_their_coordinates(seed, monkeypatch):
    X, _ = make_moons(500, noise=0.1, random_state=seed)
    X = np.r_[X, np.random.default_rng(seed).uniform(-1.5, 2.5, (15, 2))]
    model = fitted(X, 2)
    assert np.array_equal(model.labels_, without(monkeypatch, lambda: fitted(X, 2)).labels_)


def test_nothing_more_is_tried_where_no_labels_cut_clearly_less(monkeypatch):
    X, _ = clouds((200, 200), 12.0, 0, columns=10)
    tried = []
    monkeypatch.setattr(choice, "over_common", lambda *given: tried.append(given))
    assert fitted(X, 2).feature_map_ == "graph"
    assert not tried


@pytest.mark.parametrize(
    ("agreed", "surer", "less", "taken"),
    [
        (0.5, 0.95, 0.5, True),
        (0.5, 0.89, 0.5, False),  # halves do not agree on nine tenths
        (0.98, 0.985, 0.5, False),  # on more than half of what was disagreed on
        (0.98, 0.995, 0.5, True),
        (0.5, 0.95, 0.95, False),  # cuts about as much
    ],
)
def test_when_they_are_taken(agreed, surer, less, taken, monkeypatch):
    graph, weight = some_graph()
    graph = replace(graph, gap=2.0, next_gap=1.0)
    answers = [np.arange(len(weight)) % 3, np.arange(len(weight)) // 20]
    rows = Rows(np.zeros((len(weight), 2)), weight, Tools(cluster=lambda *_: answers[1]))
    cuts = iter([2.0, 2.0 * less])
    monkeypatch.setattr(choice, "cut_by", lambda *_: next(cuts))
    monkeypatch.setattr(choice, "agree", lambda *_: surer)
    unclear = choice.Chosen(replace(graph, next_gap=3.0), choice.Judgement(agreed, 0.95), rows)
    chosen = choice.Chosen(graph, choice.Judgement(agreed, 0.95), rows)
    some = choice.Compared(np.arange(len(weight)), rows)
    halves = choice.Halves(rows, graph, GraphSize(len(weight), 5, 3), np.random.default_rng(0))
    assert choice._of_uneven_sizes(unclear, answers[0], some, halves) is None
    found = choice._of_uneven_sizes(chosen, answers[0], some, halves)
    assert (found is not None) == taken
    if found is not None:
        assert found.judged.agreement == surer
        assert found.graph.features == pytest.approx(over_common(graph, weight).features, abs=1e-12)
