"""What a graph of landmarks says of samples, of views and of itself."""

from __future__ import annotations

import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score, roc_auc_score

from helpers import blobs, make_present
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, explain_views
from powerkmeans.advice.graph import in_pieces, no_clear_graph
from powerkmeans.exceptions import DataGuidanceWarning
from powerkmeans.features.graph.agreement import Judgement

X, Y = blobs(spread=1.0)
NOISE = np.random.default_rng(4).normal(size=(len(X), 6))
VIEWS = {"left": X[:, :3], "right": X[:, 2:], "noise": NOISE}


FAST = {"feature_map": "graph", "random_state": 0, "anneal_factor": 1.3}


def fitted(rows, k=3, **parameters):
    return KernelPowerKMeans(k, **(FAST | parameters)).fit(rows)


def told(fit):
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        fit()
    return [(one.category, str(one.message)) for one in record]


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_view_of_noise_explains_nothing_and_counts_little(missing):
    present = make_present(len(X), 3, np.random.default_rng(0), missing)
    model = MultiViewPowerKMeans(3, **FAST).fit(VIEWS, present=present)
    assert adjusted_rand_score(Y, model.labels_) > 0.95
    table = explain_views(model, VIEWS, present=present)
    assert table["explained"][2] == pytest.approx(0, abs=0.1)
    assert table["weight"][2] == model.view_weights_[2] < 0.1
    assert np.all(table["explained"][:2] > 0.75)
    assert np.all(table["agreement"][:2] > 0.9)
    assert table["agreement"][2] < 0.6
    assert np.sum(table["distance_share"]) == pytest.approx(1)
    assert table["coverage"] == pytest.approx(np.mean(present, axis=0))
    assert np.sum(model.view_weights_) == pytest.approx(1)


@pytest.mark.parametrize("membership", ["auto", "fuzzy", "possibilistic"])
def test_outliers_have_the_largest_scores(membership):
    rng = np.random.default_rng(0)
    moons, _ = make_moons(300, noise=0.05, random_state=0)
    rows = np.vstack([moons, rng.uniform(-2.5, 3.5, (15, 2))])
    rows = rows[np.r_[np.ones(300, bool), np.min(np.linalg.norm(rows[300:, None] - moons, axis=2), axis=1) > 0.3]]
    model = fitted(rows, 2, membership=membership)
    scores = model.outlier_score(rows)
    assert roc_auc_score(np.arange(len(rows)) >= 300, scores) > 0.95
    noise = model.predict(rows, noise_threshold=0.9)
    assert np.all(noise[scores > 0.9] == -1)
    assert np.array_equal(noise[scores <= 0.9], model.labels_[scores <= 0.9])
    assert model.typicality(rows) == pytest.approx(1 - scores)


def test_rows_between_clusters_are_less_typical():
    X, y = blobs(2, 2, 100, 0.8, seed=1)
    middle = (X[y == 0].mean(axis=0) + X[y == 1].mean(axis=0)) / 2
    scores = fitted(X, 2).outlier_score(np.vstack([X, middle]))
    assert scores[-1] > np.quantile(scores[:-1], 0.9)


def test_scores_of_several_views_see_what_one_view_has():
    views = {name: view.copy() for name, view in VIEWS.items() if name != "noise"}
    views["left"][:5] += 60
    scores = MultiViewPowerKMeans(3, **FAST, advice=False).fit(views).outlier_score(views)
    assert roc_auc_score(np.arange(len(X)) < 5, scores) > 0.95


def test_a_graph_without_clusters_says_so():
    rows = np.random.default_rng(0).normal(size=(150, 60))
    ((category, text),) = told(lambda: fitted(rows, 6))
    assert category is DataGuidanceWarning
    agreed = re.search(r"it and its halves agree on (\d\.\d\d) of them", text)
    assert float(agreed[1]) < 0.2
    assert "feature_map='nystroem'" in text
    assert told(lambda: fitted(rows, 6, advice=False)) == []
    assert told(lambda: fitted(rows, 1)) == []
    assert told(lambda: fitted(X)) == []


def test_where_a_graph_tells_nothing_a_kernel_is_taken(capsys):
    rows = np.random.default_rng(0).normal(size=(150, 60))
    model = fitted(rows, 6, feature_map="auto", verbose=1, advice=False)
    assert model._fit.model.maps[0].base.packing.name == "nystroem"
    assert re.search(
        r"feature_map='auto': nystroem, as a graph and its halves agree on 0\.\d\d .* beyond chance",
        capsys.readouterr().err,
    )
    model = fitted(X, feature_map="auto", verbose=1)
    assert model._fit.model.maps[0].base.packing.name == "graph"
    assert re.search(
        r"feature_map='auto': graph, as a graph and its halves agree on 1\.00", capsys.readouterr().err
    )


def test_sentences():
    def task(n_neighbors, n_pieces):
        base = SimpleNamespace(n_neighbors=n_neighbors, n_wanted=10, n_pieces=n_pieces)
        prepared = SimpleNamespace(maps_of_rows=[SimpleNamespace(base=base)])
        return SimpleNamespace(prepared=prepared, settings=SimpleNamespace(n_clusters=2))

    assert in_pieces(task(10, 2)) is None
    assert "so 40 were taken, with which it does not" in in_pieces(task(40, 2))
    assert "into 3 whatever their number" in in_pieces(task(40, 3))
    assert no_clear_graph(Judgement(0.9, 0.5), 21) is None
    assert no_clear_graph(Judgement(0.1, 0.95), 21) is None  # halves do not show thin shapes
    assert "agree on 0.10 of them" in no_clear_graph(Judgement(0.1, 0.5), 21)
    assert "only 20 distinct rows to be landmarks" in no_clear_graph(Judgement(0.1, 0.5), 20)


def test_rows_that_share_no_view_with_half_of_the_others():
    halves = np.arange(len(X)) % 2 == 0
    third = np.arange(len(X)) % 3 == 0
    present = np.column_stack([halves & ~third, ~halves & ~third, third])
    views = dict.fromkeys("abc", X)
    told_of = told(lambda: MultiViewPowerKMeans(2, **FAST).fit(views, present=present))
    assert "into 3 whatever their number: some rows share no view" in told_of[0][1]
