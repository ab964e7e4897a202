"""The graph of landmarks against the same in loops: shares, coordinates, weights of views, the noise edge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

import oracle
from helpers import blobs, make_present, quick, quick_views
from powerkmeans.features.graph import spectrum
from powerkmeans.features.graph.alike import agreement
from powerkmeans.features.graph.build import (
    GraphSize,
    Rows,
    build_graph,
    tied_graph,
    usual_reach,
    view_share,
    view_weights,
)
from powerkmeans.features.graph.distances import Landmarks, Measure, usual_distances
from powerkmeans.features.graph.edge import above_edge, noise_median, projection
from powerkmeans.features.graph.neighbours import neighbours, smallest
from powerkmeans.features.graph.placing import Placing, origin_of
from powerkmeans.features.graph.shares import beyond_chance
from powerkmeans.features.graph.spectrum import shares_matrix
from powerkmeans.features.graph.votes import distance_shares
from powerkmeans.features.maps.base import Tools
from powerkmeans.models.graph_answers import opened

X, _ = blobs(3, 4, 22, 1.8)
RNG = np.random.default_rng(5)
WEIGHT = RNG.integers(1, 4, len(X)).astype(float)
NEW = X[:15] + RNG.normal(0, 0.5, (15, 4))


def views_of(rows, splits, present):
    """Rows as lists of views, None where one is absent."""
    ends = [*splits, rows.shape[1]]
    parts = [rows[:, a:b] for a, b in zip([0, *splits], ends, strict=True)]
    return [
        [part[i] if has else None for part, has in zip(parts, line, strict=True)] for i, line in enumerate(present)
    ]


def expected_shares(rows, landmarks, base):
    """``Z`` and how far each row reaches, by loops."""
    parts = []
    for x in rows:
        usual = base.weights, base.typical, base.spread
        distances = [oracle.fused_distance(x, c, *usual) for c in landmarks]
        parts.append(oracle.neighbour_shares(distances, base.n_neighbors))
    return np.array([z for z, _ in parts]), np.array([reach for _, reach in parts])


def landmarks_of(base, splits):
    """The landmarks of a map as lists of raw views."""
    rows = base.landmarks.toarray() if base.sparse else base.landmarks
    width = base.offsets[-1]
    present = rows[:, width:] > 0 if len(base.weights) > 1 else np.ones((len(rows), 1), dtype=bool)
    return views_of((rows + base.origin)[:, :width], splits, present)


def check_map(base, rows, weight, new, splits=()):
    """All that a map says of training rows and of new ones, against loops over its own landmarks."""
    landmarks = landmarks_of(base, splits)
    Z, reach = expected_shares(rows, landmarks, base)
    phi, loading, mu = oracle.graph_coordinates(Z, weight, base.n_outputs + 1)
    assert mu[-2] - mu[-1] > 1e-4, "no gap at the last direction"
    phi = oracle.unit_rows(Z @ loading[:, :-1])
    new_phi = oracle.unit_rows(expected_shares(new, landmarks, base)[0] @ loading[:, :-1])
    order = np.argsort(reach)
    half = np.searchsorted(np.cumsum(np.asarray(weight)[order]), np.sum(weight) / 2)
    assert base.usual == pytest.approx(reach[order[half]], rel=0.2)
    return phi, new_phi


def close(found, expected):
    assert np.max(np.abs(found @ found.T - expected @ expected.T)) < 1e-9


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("n_components", [40, "auto"])
def test_coordinates_of_one_view(form, weight, n_components):
    settings = {"feature_map": "graph", "n_neighbors": 6, "random_state": 0, "advice": False, "anneal_factor": 1.3}
    model = quick(3, n_components=n_components, **settings).fit(form(X), sample_weight=weight)
    base = model._fit.model.maps[0].base
    ones = np.ones(len(X)) if weight is None else weight
    rows, new = ([[x] for x in part] for part in (X, NEW))
    phi, new_phi = check_map(base, rows, ones, new)
    close(np.vstack([base(form(X), np), base(form(NEW), np)]), np.vstack([phi, new_phi]))


@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("sparse", [False, True])
def test_coordinates_of_several_views(missing, sparse):
    present = make_present(len(X), 2, np.random.default_rng(2), missing)
    views = {"a": np.where(present[:, :1], X[:, :2], np.nan), "b": np.where(present[:, 1:], X[:, 2:], np.nan)}
    if sparse:
        views["b"] = csr_array(np.where(present[:, 1:], X[:, 2:], 0))
    model = quick_views(3, feature_map="graph", n_neighbors=6, random_state=0, advice=False)
    model.fit(views, sample_weight=WEIGHT, present=None if missing == 0 else present)
    base = model._fit.model.maps[0].base
    rows = views_of(X, [2], present)
    phi, _ = check_map(base, rows, WEIGHT, rows, [2])
    marked = np.hstack([np.where(np.repeat(present, 2, axis=1), X, 0), present])
    close(base(csr_array(marked) if sparse else marked, np), phi)


def test_a_view_that_two_do_not_share_counts_as_usually_far():
    rng = np.random.default_rng(0)
    present = make_present(12, 3, rng, 0.5)
    rows = np.hstack([rng.normal(size=(12, 6)) * np.repeat(present, 2, axis=1), present])
    usual = np.array([0.5, 0.3, 0.2]), np.array([1.5, 0.7, 2.0]), np.array([0.2, 0.1, 0.3])
    landmarks = Landmarks(rows[5:], (0, 2, 4, 6), *usual)
    parts = views_of(rows[:, :6], [2, 4], present)
    expected = [[oracle.fused_distance(x, c, *usual) for c in parts[5:]] for x in parts]
    expected = np.array([[np.inf if value is None else value for value in line] for line in expected])
    assert np.any(np.isinf(expected))
    measure = Measure(landmarks, np)
    assert measure.to_all(rows)[0] == pytest.approx(expected, abs=1e-12)
    chosen = np.tile(np.arange(7), (12, 1))
    assert measure.to_chosen(rows, chosen) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_views", [1, 2])
def test_what_views_add_to_the_distance_of_neighbours_by_loops(n_views):
    rng = np.random.default_rng(1)
    present = make_present(10, n_views, rng, 0.3) if n_views > 1 else np.ones((10, 1), dtype=bool)
    plain = rng.normal(size=(10, 2 * n_views)) * np.repeat(present, 2, axis=1)
    rows = np.hstack([plain, present]) if n_views > 1 else plain
    alpha, typical, spread = np.array([0.6, 0.4]), np.array([1.5, 0.7]), np.array([0.2, 0.1])
    offsets = tuple(range(0, 2 * n_views + 1, 2))
    landmarks = Landmarks(rows[4:], offsets, *(part[:n_views] for part in (alpha, typical, spread)))
    found = neighbours(rows[:4], landmarks, 2, np)
    parts = views_of(plain, list(offsets[1:-1]), present)
    for i in range(4):
        expected = [0.0] * n_views
        for share, j in zip(found.share[i], found.index[i], strict=True):
            for view in range(n_views):
                if parts[i][view] is not None and parts[4 + j][view] is not None:
                    square = oracle.squared_distance(parts[i][view], parts[4 + j][view])
                    expected[view] += share * alpha[view] / spread[view] * square / (square + typical[view])
        assert distance_shares(rows[:4], landmarks, found, np)[i] == pytest.approx(expected)


def test_at_first_rows_are_tied_to_half_of_the_landmarks_at_most():
    for n_rows, expected in ((9, 4), (4, 1), (40, 10)):
        graph, _ = made(np.random.default_rng(0).normal(size=(n_rows, 2)), 2, r=10)
        assert graph.n_wanted == expected


def test_views_of_weight_zero_are_not_shared():
    rows = np.array([[1.0, 0.0, 1, 0], [0.0, 2.0, 0, 1], [1.5, 0.0, 1, 0], [0.0, 1.0, 0, 1]])
    landmarks = Landmarks(rows[2:], (0, 1, 2), np.array([1.0, 0.0]), np.ones(2), np.ones(2))
    found = neighbours(rows[:2], landmarks, 1, np)
    assert found.share[0].tolist() == [1.0]
    assert np.all(np.isnan(found.share[1]))


def test_a_row_is_no_neighbour_of_itself():
    rows = np.array([[0.0], [1.0], [3.0], [7.0], [20.0]])
    found = neighbours(rows, Landmarks(rows, (0, 1), np.ones(1), np.ones(1), np.ones(1)), 2, np)
    assert found.itself.all()
    # the first: itself and the next at distance 1 each, the edge at 9
    assert found.share[0].tolist() == [0.5, 0.5]
    assert found.reach[0] == 1
    beside = neighbours(rows + 0.1, Landmarks(rows, (0, 1), np.ones(1), np.ones(1), np.ones(1)), 2, np)
    assert not beside.itself.any()
    assert beside.share[0, 0] > 0.5


def test_rows_that_are_all_equally_far_stay_apart():
    rows = np.eye(9)
    found = neighbours(rows, Landmarks(rows, (0, 9), np.ones(1), np.ones(1), np.ones(1)), 3, np)
    assert found.index[:, 0].tolist() == list(range(9))
    assert found.index[:, 1:].tolist() == [[1, 2]] + [[0, 2]] + [[0, 1]] * 7
    assert np.all(found.share == pytest.approx(1 / 3))


def test_smallest_values_by_groups():
    values = np.random.default_rng(0).normal(size=(20, 1777))
    found = smallest(values, 11, np)
    assert np.array_equal(np.sort(found), np.sort(np.argsort(values, axis=1)[:, :11]))


def made(rows, k=2, r=6, weight=None, offsets=None, cluster=None):
    """A graph on all rows, and the rows."""
    weight = np.ones(len(rows)) if weight is None else weight
    offsets = offsets or (0, rows.shape[1])
    tools = Tools() if cluster is None else Tools(cluster=cluster)
    some = Rows(rows, weight, tools)
    return build_graph(some, Placing(origin_of(rows, offsets), offsets), rows, GraphSize(len(rows), r, k)), some


def three_views(n=48):
    rng = np.random.default_rng(3)
    labels = np.arange(n) % 3
    good = rng.normal(size=(3, 2))[labels] * 3 + rng.normal(size=(n, 2))
    present = make_present(n, 3, rng, 0.15)
    rows = np.hstack([good, rng.normal(size=(n, 2)), good[:, :1] + rng.normal(size=(n, 1))])
    marked = np.hstack([np.where(np.repeat(present, [2, 2, 1], axis=1), rows, 0), present])
    return marked, present, labels


def test_weights_of_views_by_loops():
    rows, present, labels = three_views()
    weight = np.random.default_rng(1).integers(1, 4, len(rows)).astype(float)
    graph, some = made(rows, 3, weight=weight, offsets=(0, 2, 4, 5), cluster=lambda f, w: labels)
    shares = []
    for view, (start, end) in enumerate([(0, 2), (2, 4), (4, 5)]):
        has = np.flatnonzero(present[:, view])
        inside = [i for i, row in enumerate(graph.landmarks.rows) if row[5 + view] > 0]
        marks = (graph.landmarks.rows + graph.placing.origin)[inside, start:end]
        points = rows[has, start:end]
        z = [
            oracle.neighbour_shares([oracle.squared_distance(x, c) for c in marks], graph.n_neighbors)[0]
            for x in points
        ]
        shares.append(oracle.view_share(np.array(z), labels[has].tolist(), weight[has].tolist()))
        assert view_share(some, graph, view, labels) == pytest.approx(shares[-1], abs=1e-9)
    assert shares[0] > 0.5
    assert shares[1] < 0.2
    expected = oracle.view_weights(shares)
    assert view_weights(some, graph, labels) == pytest.approx(expected, abs=1e-9)
    assert graph.landmarks.weights == pytest.approx(expected, abs=1e-9)


def test_a_view_without_weight_or_with_one_landmark_says_nothing():
    rng = np.random.default_rng(0)
    rows, labels = np.hstack([rng.normal(size=(12, 4)), np.ones((12, 2))]), np.arange(12) % 2
    graph, some = made(rows, r=3, offsets=(0, 2, 4))
    assert view_share(some, graph, 1, labels) != 0
    without = replace(graph.landmarks, weights=np.array([1.0, 0.0]))
    assert view_share(some, replace(graph, landmarks=without), 1, labels) == 0
    single = graph.landmarks.rows.copy()
    single[1:, 5] = 0
    assert view_share(some, replace(graph, landmarks=replace(graph.landmarks, rows=single)), 1, labels) == 0


def test_a_landmark_is_judged_by_other_rows_alone():
    # each row points to a landmark of its own and to one of another cluster: by itself all would be of its cluster
    shares = csr_array(np.array([[0.5, 0.5], [0.5, 0.5]]))
    assert beyond_chance(shares, np.array([0, 1]), np.ones(2)) == pytest.approx(-1.0)
    assert beyond_chance(csr_array(np.eye(2)), np.array([0, 1]), np.ones(2)) == pytest.approx(-1.0)  # nobody else


def test_the_usual_distance_is_a_median():
    X = np.random.default_rng(0).normal(size=(30, 3))
    pairs = [oracle.squared_distance(X[i], X[j]) for i in range(30) for j in range(i)]
    assert usual_distances(X)[0] == pytest.approx(np.median(pairs))
    lower, upper = (d / (d + np.median(pairs)) for d in np.quantile(pairs, [0.25, 0.75]))
    assert usual_distances(X)[1] == pytest.approx((upper - lower) / 1.349)
    assert usual_distances(np.vstack([X, [[1e12] * 3]]))[0] < 2 * np.median(pairs)
    rare = np.zeros((30, 1))
    rare[0] = 1
    assert usual_distances(rare)[0] == pytest.approx(29 * 2 / (30 * 29))  # most are equal: the mean


@pytest.mark.parametrize(("n", "d"), [(400, 40), (60, 300)])
def test_components_above_the_edge_of_noise(n, d):
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 1.5, (n, d))
    assert above_edge(noise, np.ones(n), 2).shape == (d, 2)  # nothing is above it
    signal = noise + 6 * rng.normal(size=(n, 3)) @ np.linalg.qr(rng.normal(size=(d, 3)))[0].T * (d / n) ** 0.25
    found = above_edge(signal, np.ones(n), 1)
    values = np.linalg.eigvalsh(np.cov(signal.T, bias=True))
    assert found.shape[1] == 3 == np.sum(values > 1.1 * oracle.noise_edge(n, d, 1.5**2))
    assert found.T @ found == pytest.approx(np.eye(3), abs=1e-9)


@pytest.mark.parametrize("ratio", [0.02, 0.3, 0.9])
def test_the_median_of_noise(ratio):
    assert noise_median(ratio) == pytest.approx(oracle.noise_median(ratio), rel=2e-3)


def test_projections_of_several_views_lie_in_one_array():
    rows, present, _ = three_views()
    found = projection(rows, np.ones(len(rows)), (0, 2, 4, 5), 1)
    assert found.shape[0] == 5
    alone = above_edge(rows[present[:, 2], 4:5], np.ones(int(present[:, 2].sum())), 1)
    assert np.array_equal(found[4:, :1], alone)
    assert not found[4:, 1:].any()
    placed = Placing(np.zeros(8), (0, 2, 4, 5), found)(rows, np)
    width = found.shape[1]
    assert placed[:, width : 2 * width] == pytest.approx(rows[:, 2:4] @ found[2:4])
    assert np.array_equal(placed[:, -3:], present)


def test_agreement_is_the_adjusted_rand_index_of_pairs_with_replacement():
    a, b = np.array([0, 0, 1, 1, 2, 2]), np.array([1, 1, 0, 0, 2, 2])
    assert agreement(a, b, np.ones(6)) == pytest.approx(1)
    rng = np.random.default_rng(0)
    first, second = rng.integers(3, size=5000), rng.integers(4, size=5000)
    assert agreement(first, second, np.ones(5000)) == pytest.approx(0, abs=0.01)
    alike = np.where(np.arange(5000) < 3000, first, second)  # of many rows pairs of a row with itself are few
    assert agreement(first, alike, np.ones(5000)) == pytest.approx(adjusted_rand_score(first, alike), abs=1e-3)
    weight = rng.integers(1, 4, 50)
    repeated = [np.repeat(labels[:50], weight) for labels in (first, second)]
    assert agreement(*repeated, np.ones(sum(weight))) == pytest.approx(agreement(first[:50], second[:50], weight))
    assert agreement(np.zeros(4, int), np.zeros(4, int), np.ones(4)) == 1


def test_pieces_have_a_direction_each():
    X, y = blobs(4, 2, 30, 0.05, seed=3)
    graph, rows = made(X, 4, r=5)
    assert graph.n_pieces == 4
    assert graph.spectrum.values[:4] == pytest.approx(graph.spectrum.values[0])
    corners = graph.features
    assert np.max(np.abs(corners[y == 0] @ corners[y == 1].T)) < 1e-9  # no tie, no angle
    fewer = tied_graph(rows, graph.placing, graph.landmarks, GraphSize(len(X), 5, 2))
    assert fewer.n_pieces <= 2
    assert fewer.n_neighbors > graph.n_neighbors


def test_pieces_are_numbered_by_landmarks_and_rows_without_neighbours_are_none():
    shares = np.array(
        [[0, 0, 1, 0, 0], [0, 0.5, 0, 0.5, 0], [0, 0, 0, 0, 0], [0, 0, 0.4, 0, 0.6], [0.3, 0.7, 0, 0, 0]]
    )
    for order in (np.arange(5), np.array([4, 2, 0, 3, 1])):
        found = spectrum.ties_of(csr_array(shares[order]), np.ones(5))
        assert found.n_pieces == 2
        assert found.piece.tolist() == [0, 0, 1, 0, 1]


def test_more_neighbours_are_scored_by_few():
    few, rows = made(X, 3, r=10)
    more, _ = made(X, 3, r=20)
    assert usual_reach(rows, more) == pytest.approx(usual_reach(rows, few), rel=1e-12)
    assert np.median(more.reach) > 1.1 * np.median(few.reach)


def test_many_landmarks_are_solved_by_iteration(monkeypatch):
    monkeypatch.setattr(spectrum, "DENSE_LANDMARKS", 20)
    graph, rows = made(X, 3, r=8)
    Z = shares_matrix(neighbours(X - graph.placing.origin, graph.landmarks, 8, np), len(graph.landmarks.rows))
    expected, _, _ = oracle.graph_coordinates(Z.toarray(), rows.weight, graph.n_directions)
    close(graph.features, expected)


def test_typicality_by_loops():
    model = quick(3, feature_map="graph", n_components=40, n_neighbors=6, random_state=0).fit(X)
    base, clusters = opened(model._fit.model, *_views(model, X))[1]
    landmarks = landmarks_of(base, ())
    far = np.vstack([X, [[30.0] * 4]])
    Z, reach = expected_shares([[x] for x in far], landmarks, base)
    which = np.argmax(clusters, axis=1).tolist()
    expected = [oracle.graph_typicality(z, d, base.usual, which) for z, d in zip(Z, reach, strict=True)]
    assert model.typicality(far) == pytest.approx(expected, abs=1e-9)
    assert model.outlier_score(far) == pytest.approx(1 - np.array(expected), abs=1e-9)
    own = [model.labels_[np.argmin(np.sum((X - c[0]) ** 2, axis=1))] for c in landmarks]
    assert which == own


def _views(model, X):
    return model._check_new(X, None, None), "numpy"
