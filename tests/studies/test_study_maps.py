"""Feature maps in the study: contenders, the rule between them, peers beside them, and the order of the rows."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from benchmarks import report
from benchmarks.harness.pool import Pool
from benchmarks.harness.store import Store
from benchmarks.methods import METHODS, Answer, Method, ours
from benchmarks.methods.noise_edge import above_noise_edge
from benchmarks.study import fits, maps, maps_page, order, run
from benchmarks.study.sets import SIDES, StudySet, find_set, load

from powerkmeans.features.graph.edge import noise_median
from powerkmeans.fitting import moves


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)


@pytest.fixture
def recorded(monkeypatch):
    """What the estimators of both kinds are made with, in place of fits."""
    made = []

    class Recorder:
        labels_, restarts_, view_weights_, predict = np.zeros(1), [], [], None

        def __init__(self, k, **parameters):
            made.append((k, parameters))

        def fit(self, views):
            made[-1] += (views,)
            return self

    monkeypatch.setattr(ours, "KernelPowerKMeans", Recorder)
    monkeypatch.setattr(ours, "MultiViewPowerKMeans", Recorder)
    return made


@pytest.mark.parametrize("n_views", [1, 2])
def test_a_contender_says_its_map_and_nothing_else(recorded, n_views):
    views = [np.random.default_rng(i).normal(size=(60, 30)).astype(np.float32) for i in range(n_views)]
    asked = {}
    for name in maps.MAP_CONTENDERS:
        fits.method_of(name, n_views).run(views, 3, 7)
        k, parameters, given = recorded[-1]
        assert (k, parameters.pop("random_state")) == (3, 7)
        asked[name] = (parameters, [view.shape[1] for view in (given if n_views > 1 else [given])])
    plain = [30] * n_views
    assert asked == {
        ours.LANDMARK_MAP: ({"feature_map": "nystroem"}, plain),
        ours.GRAPH_MAP: ({"feature_map": "graph"}, plain),
        ours.EDGE_MAP: ({"feature_map": "graph"}, [3] * n_views),
        ours.AUTO_MAP: ({"feature_map": "auto"}, plain),
    }


def test_contenders_and_peers_are_in_the_tables_of_the_paper():
    for table in ("single", "multi"):
        assert set(maps.MAP_CONTENDERS) <= METHODS[table].keys()
    assert set(maps.PEERS) <= METHODS["multi"].keys()
    assert "mvlearn spectral" not in METHODS["single"]
    assert fits.why_not("mvlearn spectral", 100, 1) == "not attempted: for several views"


@pytest.mark.parametrize("ratio", [0.1, 1.0, 3.0])
def test_the_median_of_the_law_is_that_of_noise(ratio):
    n = 600
    X = np.random.default_rng(0).normal(size=(n, int(ratio * n)))
    values = np.linalg.svd(X, compute_uv=False) ** 2 / n
    expected = noise_median(min(ratio, 1 / ratio)) * max(ratio, 1)  # the law is symmetric in rows and columns
    assert np.median(values) == pytest.approx(expected, rel=0.03)


def test_components_above_the_edge_are_those_that_say_something():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(5), 80)
    X = rng.normal(size=(400, 200))
    X[:, :6] += rng.normal(0, 5, (5, 6))[y]
    assert above_noise_edge(X, 2).shape == (400, 4)  # five means span four directions
    assert above_noise_edge(X, 9).shape == (400, 9)
    assert above_noise_edge(X[:, :3], 9).shape == (400, 3)
    constant = np.ones((10, 2), dtype=np.float32)
    assert above_noise_edge(constant, 2) is constant


TINY = {
    "chosen on": (StudySet("wine", False, seeds=2), StudySet("spoilt views", True, seeds=1)),
    "confirmed on": (StudySet("iris", False, seeds=1),),
}


def small(monkeypatch):
    """Two contenders that every version has, a peer, and three small sets."""
    contenders = (ours.LANDMARK_MAP, "in two halves")
    halves = Method(lambda views, k, seed: Answer(np.arange(len(views[0])) % k), several=True, module="sklearn")
    for table in METHODS.values():
        monkeypatch.setitem(table, "in two halves", halves)
    monkeypatch.setattr(maps, "MAP_CONTENDERS", contenders)
    monkeypatch.setattr(fits, "why_not", lambda *asked: "")
    monkeypatch.setattr(maps, "METHODS", (*contenders, "KMeans(1)"))
    monkeypatch.setattr(maps, "SIDES", TINY)
    monkeypatch.setattr(maps_page, "SIDES", TINY)


def test_maps_are_chosen_and_confirmed_and_again_from_their_rows(monkeypatch, tmp_path):
    small(monkeypatch)
    assert maps_page.maps_section(run.Study(Store("study", fits.KEYS), None)) == ""
    with Pool(partial(fits.measure, folder=tmp_path), lambda: None, 0) as pool:
        maps.run_sides(run.Study(Store("study", fits.KEYS), pool))
    with Pool(partial(order.measure_order, folder=tmp_path), lambda: None, 0) as pool:
        maps.run_order(pool)
    study = run.Study(Store("study", fits.KEYS), None)
    found, winner = maps.choose(study, TINY["chosen on"])
    assert winner == ours.LANDMARK_MAP
    assert found[1].harm > 0.3
    text = maps_page.maps_section(study)
    assert "The rule's choice: **ours, landmarks**." in text
    assert text.count("### Maps and peers") == 2
    assert "nan" not in text
    agree = {(row["data"], row["method"]): row["agree"] for row in maps.order_store().rows.values()}
    assert agree.keys() == {(d.name, m) for side in TINY.values() for d in side for m in maps.METHODS}
    assert all(value == 1 for (_, method), value in agree.items() if method == ours.LANDMARK_MAP)
    assert agree["wine", "in two halves"] < 0.5  # its labels are those of places


def test_no_row_is_run_twice(monkeypatch, tmp_path):
    small(monkeypatch)
    counted = []
    with Pool(lambda job: counted.append(job) or {"agree": 1.0, "moved": 0}, lambda: None, 0) as pool:
        maps.run_order(pool)
        maps.run_order(pool)
    assert len(counted) == len({job.key for job in counted}) == 9


def test_ours_that_failed_is_tried_again_and_others_are_not(monkeypatch):
    small(monkeypatch)
    with Pool(lambda job: {"error": "no such map"}, lambda: None, 0) as pool:
        maps.run_order(pool)
        maps.run_sides(run.Study(Store("study", fits.KEYS), pool))
    counted = []
    with Pool(lambda job: counted.append(job) or {"agree": 1.0, "moved": 0}, lambda: None, 0) as pool:
        maps.run_order(pool)
        maps.run_sides(run.Study(Store("study", fits.KEYS), pool))
    assert {job.key[1] for job in counted} == set(maps.MAP_CONTENDERS)
    assert len(counted) == 3 * 2 + (2 + 1 + 1) * 2


def test_rows_that_moved_are_counted_up_to_the_names_of_clusters():
    first = np.array([0, 0, 0, 1, 1, 2])
    assert order.rows_moved(first, np.array([2, 2, 2, 0, 0, 1])) == 0
    assert order.rows_moved(first, np.array([2, 2, 0, 0, 0, 1])) == 1


def test_a_contender_is_fitted_with_the_constants_of_the_library(monkeypatch, tmp_path):
    seen, before = [], moves.MARGIN

    def answer(name, views, k, seed):
        seen.append(moves.MARGIN)
        return Answer(np.arange(len(views[0])) % k)

    monkeypatch.setattr(fits, "answer_of", answer)
    monkeypatch.setattr(fits, "_ours", lambda choice, *given: answer("", *given))
    fits.measure(fits.Job("iris", 0, peer=ours.LANDMARK_MAP), tmp_path)
    fits.measure(fits.Job("iris", 0), tmp_path)
    assert seen == [before, 0.01]


def test_inputs_are_those_of_the_set_for_all_methods(monkeypatch, tmp_path):
    seen = {}

    def answer(name, views, k, seed):
        seen["X"] = views[0]
        return Answer(np.arange(len(views[0])) % k)

    monkeypatch.setattr(fits, "answer_of", answer)
    fits.measure(fits.Job("digits", 0, peer="KMeans(1)"), tmp_path)
    assert np.array_equal(seen["X"], load("digits", tmp_path, 0, "raw")[0][0])
    fits.measure(fits.Job("uneven topics", 0, peer="KMeans(1)"), tmp_path)
    assert np.allclose(np.linalg.norm(seen["X"], axis=1), 1, atol=1e-5)
    assert {find_set(data.name).inputs for side in SIDES.values() for data in side} == {
        "standardised",
        "raw",
        "unit rows",
    }
