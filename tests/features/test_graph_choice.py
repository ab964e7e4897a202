"""Which graph is taken: directions, neighbours and columns, by what halves of the landmarks agree on."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, repeat
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from powerkmeans import KernelPowerKMeans
from powerkmeans.features.graph import choice
from powerkmeans.features.graph.agreement import (
    Halves,
    Judgement,
    agree,
    compared_rows,
    labels_of,
)
from powerkmeans.features.graph.alike import agreement
from powerkmeans.features.graph.build import (
    GraphSize,
    Rows,
    again,
    build_graph,
    even_landmarks,
    n_directions,
    tied_graph,
)
from powerkmeans.features.graph.placing import Placing, origin_of
from powerkmeans.features.graph.uneven import over_common
from powerkmeans.features.maps.base import Tools


def overlapping(seed=0, n=200, apart=1.9):
    """Three clouds of ten columns that run into each other."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=(n, 10)) + apart * np.eye(10)[j] for j in range(3)])


def spirals(n=300):
    """Three arms of the same spiral, one and a half turns each."""
    angle = np.linspace(0.5, 1.5, n)[:, None] * 2 * np.pi
    turns = [angle + 2 * np.pi * arm / 3 for arm in range(3)]
    arms = np.concatenate([angle * np.hstack([np.cos(turn), np.sin(turn)]) for turn in turns])
    return arms + np.random.default_rng(0).normal(scale=0.25, size=arms.shape)


def base_of(rows, k, **parameters):
    model = KernelPowerKMeans(k, feature_map="graph", random_state=0, advice=False, **parameters).fit(rows)
    return model._fit.model.maps[0].base


def test_more_neighbours_where_clouds_run_into_each_other():
    rows = overlapping()
    assert base_of(rows, 3).n_neighbors == 40
    assert base_of(rows, 3, n_neighbors=10).n_neighbors == 10  # as told
    assert base_of(rows[::3], 3).n_neighbors == 10  # forty would be more than a cluster has of half the landmarks


def test_few_neighbours_where_there_are_shapes():
    rows, y = make_moons(400, noise=0.06, random_state=0)
    model = KernelPowerKMeans(2, feature_map="graph", random_state=0, advice=False).fit(rows)
    assert model._fit.model.maps[0].base.n_neighbors == 10
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_more_neighbours_are_not_tried_where_clusters_are_apart(monkeypatch):
    """Halves of thin shapes say nothing, so it is purity that has to keep ten neighbours."""
    tried = []
    monkeypatch.setattr(choice, "again", lambda *given: tried.append(given[-1].n_neighbors) or again(*given))
    assert base_of(spirals(), 3).n_neighbors == 10
    assert not tried
    assert base_of(overlapping(), 3).n_neighbors == 40
    assert tried == [40]


@pytest.mark.parametrize(
    ("judged", "settled"),
    [((0.9, 0.0), True), ((0.89, 0.89), False), ((0.0, 0.9), True), ((1.0, 1.0), True), ((0.0, 0.0), False)],
)
def test_what_is_settled(judged, settled):
    assert Judgement(*judged).settled == settled


def test_rows_that_are_equally_far_from_nearly_all_others_are_no_splinters():
    """Among categories most landmarks are as far as the first one beyond, and two rows may have but each other."""
    rows = np.eye(10)[np.random.default_rng(0).integers(0, 10, (500, 8))].reshape(500, -1)
    model = KernelPowerKMeans(3, random_state=0, advice=False).fit(rows)
    assert np.min(np.bincount(model.labels_)) > 50
    sample = Rows(rows, np.ones(500), Tools())
    placing = Placing(origin_of(rows, (0, 80)), (0, 80))
    plain = tied_graph(sample, placing, even_landmarks(placing(rows, np), placing.offsets), GraphSize(500, 10, 3))
    assert plain.n_neighbors == 20  # and not ten, with which there are three pieces, two of two rows
    assert plain.n_pieces == 1


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 0.99, 0.5, 0.4], 2),  # a gap behind the second
        ([1, 0.99, 0.98, 0.4], 3),  # behind the third instead
        ([1, 1, 0.9, 0.8], 2),
        ([1, 0.9, 0.8], 2),  # nothing to compare with
    ],
)
def test_as_many_directions_as_clusters_unless_the_gap_is_behind_the_next(values, expected):
    assert n_directions(np.array(values, dtype=float), 2) == expected


def test_one_direction_is_never_enough():
    assert n_directions(np.array([1.0, 0.9, 0.1]), 1) == 2


def test_a_graph_that_is_the_odd_one_out():
    """Halves that agree with each other say nothing for a graph that says something else."""
    rows = overlapping(apart=6.0, n=60)
    answers = chain([np.arange(180) % 3], repeat(np.arange(180) // 60))
    tools = Tools(cluster=lambda features, *_: next(answers))
    some = Rows(rows, np.ones(180), tools)
    size = GraphSize(180, 10, 3)
    graph = build_graph(some, Placing(origin_of(rows, (0, 10)), (0, 10)), rows, size)
    rng = np.random.default_rng(0)
    labels = labels_of(compared_rows(some, rng), graph)
    found = agree(some, graph, labels, Halves(some, graph, size, rng).drawn, 0.65)
    odd = agreement(np.arange(180) % 3, np.arange(180) // 60, np.ones(180))
    assert found == pytest.approx((1 + 2 * odd) / 3)


@pytest.mark.parametrize(
    ("n_landmarks", "values", "told"),
    [
        (124, [0.86, 0.4, 0.5, 0.45, 0.4], 0.522),  # one lucky way of five
        (124, [0.95], 0.95),
        (124, [0.2], 0.2),
        (2000, [0.7], 0.7),
        (124, [0.6] * 9, 0.6),  # it stays open
    ],
)
def test_few_landmarks_are_halved_until_it_is_beyond_luck(monkeypatch, n_landmarks, values, told):
    left = iter(values)
    monkeypatch.setattr("powerkmeans.features.graph.agreement._value", lambda *rest: next(left))
    rows, ways = np.zeros((n_landmarks, 2)), []
    graph = SimpleNamespace(landmarks=SimpleNamespace(rows=rows))
    found = agree(rows, graph, np.zeros(n_landmarks), ways.append, 0.66)
    assert found == pytest.approx(told)
    assert not list(left)
    assert ways == list(range(len(values)))


@pytest.mark.parametrize(("agreement", "purity"), [(0.66, 0.64), (0.4, 0.95)])
def test_what_is_needed_is_what_is_clear(agreement, purity):
    assert Judgement(agreement, purity).clear
    assert not Judgement(agreement - 0.02, min(purity, 0.64)).clear


def contradicting(n=90):
    """Two views of three clear clusters each that have nothing to do with each other, both there for all rows."""
    rng = np.random.default_rng(0)
    classes = np.arange(n) % 3, np.arange(n) * 3 // n
    views = [rng.normal(size=(n, 2)) + 12 * np.eye(3, 2)[one] for one in classes]
    return np.concatenate([*views, np.ones((n, 2))], axis=1), classes


def test_halves_have_to_find_the_weights_of_views_themselves(monkeypatch):
    """Halves that are told which view counts agree on it; by themselves they do not know."""
    rows, classes = contradicting()
    some = Rows(rows, np.ones(90), Tools(cluster=lambda features, *_: by_k_means(features)))
    size, placing = GraphSize(90, 10, 3), Placing(origin_of(rows, (0, 2, 4)), (0, 2, 4))
    even = even_landmarks(placing(rows, np), placing.placed_offsets)
    graph = tied_graph(some, placing, replace(even, weights=np.array([0.9, 0.1])), size).along(3)
    rng = np.random.default_rng(0)

    def agreed():
        return agree(some, graph, classes[0], Halves(some, graph, size, rng).drawn, 0.65)

    assert agreed() < 0.8
    monkeypatch.setattr("powerkmeans.features.graph.agreement.FEW_LANDMARKS", 0)
    assert agreed() < 0.8
    monkeypatch.setattr("powerkmeans.features.graph.agreement.LEAST_PART", 0.0)
    assert agreed() > 0.95


def test_more_neighbours_are_tried_on_the_same_halves_with_the_same_weights():
    rows, _ = contradicting()
    some = Rows(rows, np.ones(90), Tools(cluster=lambda features, *_: by_k_means(features)))
    size, placing = GraphSize(90, 10, 3), Placing(origin_of(rows, (0, 2, 4)), (0, 2, 4))
    graph = build_graph(some, placing, rows, size)
    halves = Halves(some, graph, size, np.random.default_rng(0))
    few, more = list(halves.drawn(0)), list(halves.widened(replace(size, n_neighbors=20))(0))
    for one, other in zip(few, more, strict=True):
        assert np.array_equal(one.landmarks.weights, other.landmarks.weights)
        assert np.array_equal(one.landmarks.rows, other.landmarks.rows)
        assert (one.n_neighbors, other.n_neighbors) == (10, 20)
    assert len(few[0].landmarks.rows) + len(few[1].landmarks.rows) == 90


def test_more_ways_to_halve_than_were_known_are_drawn_as_they_would_have_been():
    rows, _ = contradicting()
    some = Rows(rows, np.ones(90), Tools(cluster=lambda features, *_: by_k_means(features)))
    size, placing = GraphSize(90, 10, 3), Placing(origin_of(rows, (0, 2, 4)), (0, 2, 4))
    graph = build_graph(some, placing, rows, size)
    one, other = (Halves(some, graph, size, np.random.default_rng(0)) for _ in range(2))
    few = [graph for number in range(3) for graph in one.drawn(number)]
    more = [graph for number in (2, 0, 1) for graph in other.widened(size)(number)]
    for expected, found in zip(few, [*more[2:], *more[:2]], strict=True):
        assert np.array_equal(found.features, expected.features)


def test_halves_over_the_common_direction_keep_no_rows():
    rows, _ = contradicting()
    some = Rows(rows, np.ones(90), Tools(cluster=lambda features, *_: by_k_means(features)))
    size, placing = GraphSize(90, 10, 3), Placing(origin_of(rows, (0, 2, 4)), (0, 2, 4))
    halves = Halves(some, build_graph(some, placing, rows, size), size, np.random.default_rng(0))
    drawn = list(halves.drawn(0))
    for one, kept in zip(drawn, halves.over_common(0), strict=True):
        assert np.array_equal(kept.features, over_common(one, some.weight).features)
        assert kept.landmarks.rows.base is None
        assert len(kept.landmarks.rows) == 0


def by_k_means(features):
    return KMeans(3, n_init=5, random_state=0).fit_predict(features)
