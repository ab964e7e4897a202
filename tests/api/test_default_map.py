"""The feature map that nobody asked for: a graph where it is clear, else landmarks of a kernel."""

from __future__ import annotations

import inspect
import json
import warnings

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

import powerkmeans
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, choose_k
from powerkmeans.cli.app import app
from powerkmeans.cli.modelling import ModelOptions
from powerkmeans.cli.options import FEATURE_MAPS
from powerkmeans.features.maps.registry import MAPS
from powerkmeans.inputs.settings import check_settings
from powerkmeans.metrics import clustering_accuracy
from powerkmeans.plotting import DimensionDisplay, SensitivityDisplay

BLOBS, OF_BLOB = make_blobs(150, centers=3, n_features=4, cluster_std=1.0, random_state=2)
NOISE = np.random.default_rng(0).normal(size=(200, 20))
VIEWS = {"a": BLOBS[:, :2], "b": BLOBS[:, 2:]}
ESTIMATORS = [KernelPowerKMeans, MultiViewPowerKMeans]


def fitted(X, k=3, **parameters):
    kind = MultiViewPowerKMeans if isinstance(X, dict) else KernelPowerKMeans
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(k, **({"random_state": 0, "anneal_factor": 1.5} | parameters)).fit(X)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_all_names_of_the_default_are_one(estimator):
    assert estimator().get_params()["feature_map"] == "auto"
    assert 'default="auto"' in inspect.getdoc(estimator).partition("feature_map : ")[2].partition("\n")[0]
    assert ModelOptions(3).feature_map == FEATURE_MAPS[0] == "auto"
    assert set(FEATURE_MAPS) == set(MAPS)
    settings = check_settings(MultiViewPowerKMeans(feature_map={"b": "rff"}).get_params(), several_views=True)
    assert [one.feature_map for one in settings.of_views(("a", "b"))] == ["nystroem", "rff"]


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_shapes_are_found_without_a_word(make):
    more = {"factor": 0.5} if make is make_circles else {}
    X, y = make(400, noise=0.05, random_state=0, **more)
    model = KernelPowerKMeans(2, random_state=0).fit(X)
    assert model.feature_map_ == "graph"
    assert clustering_accuracy(y, model.labels_) == 1
    assert model.bandwidth_ is None


def test_blobs_are_a_graph_and_noise_is_landmarks():
    model = KernelPowerKMeans(3, random_state=0).fit(BLOBS)
    assert model.feature_map_ == "graph"
    assert clustering_accuracy(OF_BLOB, model.labels_) > 0.98
    assert np.array_equal(model.labels_, fitted(BLOBS, feature_map="graph").labels_)
    assert fitted(NOISE).feature_map_ == "nystroem"
    several = MultiViewPowerKMeans(3, random_state=0).fit(VIEWS)
    assert several.feature_map_.tolist() == ["graph", "graph"]
    assert not several._fit.model.problem.membership.bounded


@pytest.mark.parametrize("X", [NOISE, {"a": NOISE[:, :8], "b": NOISE[:, 8:]}], ids=["one", "several"])
def test_where_landmarks_are_taken_all_is_as_if_they_were_asked_for(X):
    found, expected = fitted(X), fitted(X, feature_map="nystroem")
    assert set(np.ravel(found.feature_map_)) == {"nystroem"}
    assert np.array_equal(found.labels_, expected.labels_)
    assert found.objective_ == expected.objective_
    assert np.array_equal(found.view_weights_, expected.view_weights_)
    assert found._fit.model.problem.membership == expected._fit.model.problem.membership


@pytest.mark.parametrize(
    "given",
    [
        {"n_components": 5},
        {"n_components": 10},
        {"n_components": 24, "n_neighbors": 24},
        {"bandwidth": 2.0},
        {"kernel": "laplacian"},
    ],
    ids=str,
)
def test_settings_that_only_landmarks_make_sense_of_take_them_from_the_outset(given, monkeypatch):
    def built(*arguments):
        raise AssertionError("a graph was built")

    monkeypatch.setattr("powerkmeans.fitting.features.prepare_fused", built)
    for X in (BLOBS, VIEWS):
        found = fitted(X, **given)
        assert set(np.ravel(found.feature_map_)) == {"nystroem"}
        assert np.array_equal(found.labels_, fitted(X, feature_map="nystroem", **given).labels_)


def test_more_landmarks_than_neighbours_may_make_a_graph():
    assert fitted(BLOBS, n_components=50).feature_map_ == "graph"
    assert fitted(BLOBS, n_components=5, n_neighbors=4).feature_map_ in ("graph", "nystroem")
    for estimator, X in zip(ESTIMATORS, (BLOBS, VIEWS), strict=True):
        with pytest.raises(ValueError, match="n_neighbors=10 must be less than the number of landmarks"):
            estimator(3, feature_map="graph", n_components=10, n_neighbors=10).fit(X)


def test_a_kernel_matrix_is_exact():
    K = np.exp(-np.sum((BLOBS[:, None] - BLOBS) ** 2, axis=2) / 8)
    assert fitted(K, kernel="precomputed").feature_map_ == "exact"


def test_the_command_without_options(tmp_path):
    np.save(tmp_path / "rows.npy", make_moons(300, noise=0.05, random_state=0)[0])
    arguments = ["fit", str(tmp_path / "rows.npy"), "-k", "2", "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(app, [*arguments, "--json"])
    answer = json.loads(done.stdout)
    assert answer["feature_map"] == "graph"
    assert sorted(answer["cluster_sizes"]) == [150, 150]
    assert answer["notes"] == []
    model = powerkmeans.load(tmp_path / "out" / "model.npz").estimator
    assert (model.feature_map, model.feature_map_) == ("auto", "graph")
    told = CliRunner().invoke(app, ["explain", str(tmp_path / "out" / "model.npz")]).stdout
    assert "2 clusters · fuzzy" in told
    assert "features   graph, 300 components\n  bandwidth  none" in told
    answer = json.loads(CliRunner().invoke(app, ["explain", str(tmp_path / "out" / "model.npz"), "--json"]).stdout)
    assert (answer["feature_map"], answer["membership"], answer["bandwidth"]) == ("graph", "fuzzy", [None])


def test_outliers_that_nobody_scored_are_told(tmp_path):
    np.save(tmp_path / "rows.npy", NOISE)
    arguments = ["fit", str(tmp_path / "rows.npy"), "-k", "3", "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(app, [*arguments, "--membership", "fuzzy", "--outliers", "0.1", "--json"])
    (note,) = json.loads(done.stdout)["notes"]
    assert note.startswith("--outliers labels nothing: nystroem has no scores with a fuzzy membership")


def test_costs_of_numbers_of_clusters_are_those_of_landmarks():
    found, expected = (
        choose_k(BLOBS, k_max=4, random_state=0, **given) for given in ({}, {"feature_map": "nystroem"})
    )
    assert (found.k, found.by) == (expected.k, expected.by) == (3, "cost")
    of_a_graph = {"crossing", "noise_crossing", "spectral_gap"}
    assert all(np.all(np.isfinite(found.table[name])) for name in of_a_graph)
    assert all(np.all(np.isnan(expected.table[name])) for name in of_a_graph)
    of_both = set(found.table) - of_a_graph
    assert all(np.array_equal(found.table[name], expected.table[name], equal_nan=True) for name in of_both)


def test_displays_over_settings_draw_one_map():
    pytest.importorskip("matplotlib").use("Agg")
    few = {"n_components": [8, 40], "n_draws": 1}
    found, expected = (
        DimensionDisplay.from_estimator(KernelPowerKMeans(3, random_state=0, **given), BLOBS, OF_BLOB, **few)
        for given in ({}, {"feature_map": "nystroem"})
    )
    assert np.array_equal(found.scores, expected.scores)
    assert found.suggested == expected.suggested
    few = {"s_init": [-5.0], "entropy": [1.0, 1e4]}
    found, expected = (
        SensitivityDisplay.from_estimator(MultiViewPowerKMeans(3, random_state=0, **given), VIEWS, **few)
        for given in ({}, {"feature_map": "nystroem"})
    )
    assert np.array_equal(found.scores, expected.scores)


def spirals(n=300):
    """Three thin arms of a spiral."""
    rng = np.random.default_rng(0)
    turned = np.sqrt(rng.uniform(0.04, 1, size=(3, n))) * 3 * np.pi
    angle = turned + np.arange(3)[:, None] * 2 * np.pi / 3
    rows = np.stack([turned * np.cos(angle), turned * np.sin(angle)], axis=-1) + rng.normal(0, 0.2, size=(3, n, 2))
    return rows.reshape(-1, 2), np.repeat(np.arange(3), n)


def test_shapes_that_halves_of_the_landmarks_lose():
    """Half of the rows of a thin shape fall apart; that no neighbour is of another cluster tells them apart."""
    rows, y = spirals()
    model = KernelPowerKMeans(3, random_state=0, advice=False).fit(rows)
    assert model._fit.model.maps[0].base.agreement < 0.5
    assert model.feature_map_ == "graph"
    assert adjusted_rand_score(y, model.labels_) > 0.9
