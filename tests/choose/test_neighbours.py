"""Numbers of groups by their neighbours: shapes are counted, clusters around centres stay with their costs."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs, make_circles, make_moons

import oracle
from helpers import blobs, make_views
from powerkmeans import KernelPowerKMeans, choose_k
from powerkmeans.choose.neighbours import APART, Crossings, find_crossings
from powerkmeans.choose.path import make_shared
from powerkmeans.choose.rule import Apart, Criteria, recommend
from powerkmeans.features.graph.spectrum import NONE, WIDE
from powerkmeans.fitting.problem import make_task
from powerkmeans.inputs.settings import check_settings
from powerkmeans.metrics import clustering_accuracy

MOONS, OF_MOONS = make_moons(300, noise=0.05, random_state=0)
RINGS, _ = make_circles(400, noise=0.05, factor=0.5, random_state=0)
COLUMNS = ("crossing", "noise_crossing", "spectral_gap")


def crossings_of(X, numbers, weight=None, **parameters):
    estimator = KernelPowerKMeans(numbers[-1], feature_map="nystroem", **parameters)
    settings = check_settings(estimator.get_params(), several_views=False)
    full = make_task(make_views([X], weight), settings, seed=0)
    shared = make_shared(full, numbers, 2000)
    return find_crossings(full, shared, numbers)[0], shared


# what is found


@pytest.mark.parametrize("X", [MOONS, RINGS], ids=["moons", "rings"])
def test_shapes_are_counted_by_their_neighbours(X):
    found = choose_k(X, k_max=8, random_state=0)
    assert (found.k, found.by) == (2, "neighbours")
    assert re.match(
        r"k=2 groups have next to no near neighbours in common: (less than 0\.1|0\.\d+) %", found.reason
    )
    assert "2 clusters around centres are others (adjusted Rand index 0." in found.reason
    assert re.search(r"and by cost (no number stands out|it would be k=\d)\.", found.reason)
    assert found.table["crossing"][0] <= APART * found.table["noise_crossing"][0]
    assert found.table["spectral_gap"][0] > WIDE


def test_the_number_is_that_of_the_default_fit():
    found = choose_k(MOONS, k_max=6, random_state=0)
    model = KernelPowerKMeans(found.k, random_state=0).fit(MOONS)
    assert model.feature_map_ == "graph"
    assert clustering_accuracy(OF_MOONS, model.labels_) == 1


def test_clusters_around_centres_stay_with_their_costs():
    X, _ = blobs(4, 6, 40, 0.5)
    found = choose_k(X, k_max=7, random_state=0)
    assert (found.k, found.by) == (4, "cost")
    apart = found.table["crossing"] <= APART * found.table["noise_crossing"]
    assert apart[2]  # the graph has the same groups
    assert found.table["spectral_gap"][2] > WIDE


@pytest.mark.parametrize(
    "X",
    [
        np.random.default_rng(0).uniform(size=(300, 3)),
        np.random.default_rng(0).normal(size=(300, 10)),
        np.random.default_rng(0).standard_t(3, size=(300, 5)),
        make_circles(300, noise=0.08, factor=0.99, random_state=0)[0],
        np.random.default_rng(0).normal(size=(500, 1)),
        np.eye(10)[np.random.default_rng(0).integers(0, 10, (500, 8))].reshape(500, -1),
    ],
    ids=["uniform", "normal", "heavy tails", "one ring", "one column", "categories"],
)
def test_one_piece_has_no_groups(X):
    found, _ = crossings_of(X, list(range(1, 9)))
    assert found is None or found.clearest is None


def test_a_line_that_is_cut_in_the_middle_is_no_two_groups():
    """Its modes have 1, 4, 9, ... times the same distance from one: the gap behind two is four, and no wider."""
    X = np.stack([np.linspace(0, 1, 400), np.zeros(400)], axis=1)
    found, _ = crossings_of(X, [1, 2, 3, 4])
    assert found.gap[1:3] == pytest.approx([4, 9 / 4], rel=0.05)
    assert found.clearest is None


def test_several_views_of_which_some_are_missing():
    rng = np.random.default_rng(0)
    views = {"shape": MOONS.copy(), "again": MOONS[:, ::-1] + rng.normal(0, 0.03, MOONS.shape)}
    views["shape"][::9], views["again"][4::9] = np.nan, np.nan
    found = choose_k(views, k_max=5, random_state=0)
    assert (found.k, found.by) == (2, "neighbours")


def test_weights_equal_repetition_and_the_order_of_rows_does_not_matter():
    X, weight = MOONS, np.random.default_rng(0).integers(1, 4, 300)
    weighted = choose_k(X, k_max=4, sample_weight=weight, random_state=0)
    repeated = choose_k(np.repeat(X, weight, axis=0), k_max=4, random_state=0)
    shuffled = choose_k(X[::-1], k_max=4, sample_weight=weight[::-1], random_state=0)
    for other in (repeated, shuffled):
        assert (other.k, other.by) == (weighted.k, weighted.by) == (2, "neighbours")
        for column in COLUMNS:
            assert other.table[column] == pytest.approx(weighted.table[column], rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_scales_do_not_matter(scale):
    found, plain = (choose_k(X, k_max=4, random_state=0) for X in (scale * MOONS, MOONS))
    assert (found.k, found.by) == (2, "neighbours")
    assert found.table["crossing"] == pytest.approx(plain.table["crossing"], abs=0.02)


def test_sparse_views_beside_dense_ones():
    views = {"sparse": csr_array(MOONS), "dense": MOONS + 0.01, "both": csr_array(np.hstack([MOONS, MOONS**2]))}
    found = choose_k(views, k_max=4, random_state=0)
    assert (found.k, found.by) == (2, "neighbours")


def test_uneven_weights_make_no_groups_of_noise():
    """Heavy rows are groups by themselves, unless noise has as heavy ones."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, weight = rng.normal(size=(300, 2)), 1 + rng.pareto(0.5, 300)
        assert crossings_of(X, list(range(1, 8)), weight)[0].clearest is None


def test_a_thin_spot_of_a_curve_is_seldom_a_gap():
    """More neighbours span it, if not always."""
    apart, again = 0, 0
    for seed in range(9):
        rng = np.random.default_rng(seed)
        angle = 2 * np.pi * rng.uniform(0.5, 1.5, 300)
        X = angle[:, None] * np.c_[np.cos(angle), np.sin(angle)] + rng.normal(0, 0.1, (300, 2))
        found, _ = crossings_of(X, [1, 2, 3, 4])
        apart, again = apart + bool(found.apart), again + (found.clearest is not None)
    assert again <= 1 < apart


def test_groups_beyond_the_range_are_told():
    rng = np.random.default_rng(0)
    radius, angle = np.repeat([2.0, 4.0, 6.0], 200), rng.uniform(0, 2 * np.pi, 600)
    X = radius[:, None] * np.c_[np.cos(angle), np.sin(angle)] + rng.normal(0, 0.05, (600, 2))
    said = "Neighbours fall into 3 groups that nothing joins, more than 2: try a larger k_max."
    assert choose_k(X, k_max=2, random_state=0).reason.endswith(said)
    found = choose_k(X, k_max=4, random_state=0)
    assert (found.k, found.by) == (3, "neighbours")
    assert "fall into" not in found.reason


def test_splinters_are_no_groups():
    """Where distances are few numbers rows have nobody but each other."""
    X = np.eye(10)[np.random.default_rng(0).integers(0, 10, (500, 4))].reshape(500, -1)
    found = choose_k(X, k_max=4, random_state=0)
    assert np.all(np.isnan(found.table["crossing"]))
    assert "Neighbours fall into" not in found.reason


def test_rows_that_are_all_equally_far_from_each_other():
    assert choose_k(np.eye(140), k_max=4, random_state=0).k == 1


def test_groups_of_a_single_column_are_counted():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 1, 500), rng.normal(10, 1, 50)][:, None]
    found = choose_k(X, k_max=6, random_state=0)
    assert (found.k, found.by) == (2, "neighbours")


def test_a_row_of_nearly_all_weight_leaves_shares():
    found = choose_k(MOONS, k_max=4, sample_weight=np.r_[1e9, np.ones(len(MOONS) - 1)], random_state=0)
    assert np.all((found.table["crossing"] >= 0) & (found.table["crossing"] <= 1))


def test_sparse_rows_are_the_same_as_dense_ones():
    dense, sparse = (choose_k(X, k_max=4, random_state=0) for X in (MOONS, csr_array(MOONS)))
    assert (sparse.k, sparse.by) == (2, "neighbours")
    assert sparse.table["crossing"] == pytest.approx(dense.table["crossing"], abs=1e-3)


# who is asked


@pytest.mark.parametrize(
    "parameters", [{"feature_map": "nystroem"}, {"feature_map": "exact"}, {"bandwidth": 0.2}, {"n_components": 8}]
)
def test_no_graph_is_asked_where_the_fit_would_take_none(parameters):
    found = choose_k(MOONS, k_max=4, random_state=0, **parameters)
    assert found.by == "cost"
    assert all(np.all(np.isnan(found.table[column])) for column in COLUMNS)


def test_nor_where_rows_are_too_few():
    X, _ = blobs(3, 4, 6)
    found = choose_k(X, k_max=4, random_state=0)
    assert (found.k, found.by) == (3, "cost")
    assert np.all(np.isnan(found.table["crossing"]))


def test_a_number_of_neighbours_is_that_of_the_fit():
    ten, few = (choose_k(MOONS, k_max=4, random_state=0, n_neighbors=count) for count in (10, 5))
    default = choose_k(MOONS, k_max=4, random_state=0)
    assert np.array_equal(ten.table["crossing"], default.table["crossing"])
    assert not np.array_equal(few.table["crossing"], default.table["crossing"])


# by the equations


def test_crossings_and_gaps_are_those_of_the_oracle():
    X, _ = make_moons(80, noise=0.06, random_state=1)
    weight = np.random.default_rng(0).integers(1, 4, 80).astype(float)
    numbers = [1, 2, 3, 4]
    found, shared = crossings_of(X, numbers, weight)
    rows, weight = shared.given.views[0], shared.given.weight
    distances = [[oracle.squared_distance(x, c) for c in rows] for x in rows]
    Z = np.array([oracle.neighbour_shares(line, 10)[0] for line in distances])
    _, _, mu = oracle.graph_coordinates(Z, weight, 5)
    assert found.gap[1:3] == pytest.approx([(1 - mu[k]) / max(1 - mu[k - 1], NONE) for k in (2, 3)], rel=1e-6)
    expected = [1 - oracle.view_share(Z, labels, weight) for labels in found.labels[1:]]
    assert found.crossing[1:] == pytest.approx(expected, abs=1e-12)
    assert found.crossing[0] == 1  # of one group there is nothing that chance would not give


# the rule


def crossings(crossing, gap, noise=0.1, deviation=0.0):
    count = len(crossing)
    labels = [np.zeros(3, dtype=int)] * count
    columns = (crossing, np.full(count, noise), np.full(count, deviation), gap)
    return Crossings(list(range(1, count + 1)), *map(np.array, columns), labels)


def test_the_largest_number_that_is_apart_and_has_a_wide_gap():
    assert crossings([1, 0, 0, 0.02, 0.05], [9, 9, 9, 9, 9]).apart == [2, 1]
    assert crossings([1, 0, 0, 0.02, 0.05], [9, 9, 2, 9, 9]).apart == [1]
    assert crossings([1, 0, 0.0, 0.01, 0.0], [9, 5, 5, 5, 9]).apart == []  # hardly wider than a line's
    assert crossings([0, 0.02, 0.02, 0.02, 0.0], [9, 9, 9, 9, 9]).apart == []  # both ends are but neighbours


def test_noise_that_varies_much_says_little():
    """A hundredth of noise is 4.6 in logarithms."""
    assert crossings([1, 0.001, 1], [9, 9, 9], deviation=1.1).apart == [1]
    assert crossings([1, 0.001, 1], [9, 9, 9], deviation=1.2).apart == []


def test_groups_are_found_again_by_more_neighbours():
    found, ones = crossings([1, 0, 1], [9, 9, 9]), np.ones(3)
    assert found.again(1, 0.01, found.labels[1], ones)
    assert not found.again(1, 0.02, found.labels[1], ones)  # more than a tenth of noise
    assert not found.again(1, 0.0, np.array([0, 0, 1]), ones)


def criteria(gap, stability=1.0):
    gap, ones = np.array(gap, dtype=float), np.ones(len(gap))
    numbers = list(range(1, len(gap) + 1))
    return Criteria(numbers, np.exp(-gap), ones, gap, 0.01, 0.01, stability * ones, ones, 0 * ones)


BEND, NO_BEND = [0, 0.2, 0.6, 0.55, 0.5, 0.45], [0, 0.001, 0.002, 0.001, 0, 0]
GAPS, NARROW = np.full(6, 2.1), np.full(6, 1.9)


@pytest.mark.parametrize(
    ("gap", "stability", "apart", "expected"),
    [
        (BEND, 1, None, (3, "cost")),
        (NO_BEND, 1, None, (1, "cost")),
        (BEND, 1, Apart(2, 0.001, 0.1, 0.95, NARROW), (3, "cost")),  # costs see the same groups, and go on
        (BEND, 1, Apart(2, 0.001, 0.1, 0.5, NARROW), (2, "neighbours")),
        (BEND, 0.89, Apart(2, 0.001, 0.1, 0.5, GAPS), (2, "neighbours")),
        (BEND, 0.9, Apart(2, 0.001, 0.1, 0.5, GAPS), (3, "cost")),  # parts of the groups, which come back
        (BEND, 1, Apart(4, 0.001, 0.1, 0.5, GAPS), (4, "neighbours")),  # of which these would be joined
        (NO_BEND, 1, Apart(2, 0.001, 0.1, 0.95, GAPS), (2, "neighbours")),
        (NO_BEND, 1, Apart(5, 0.0, 0.1, 0.1, GAPS), (5, "neighbours")),
    ],
)
def test_neighbours_decide_where_costs_see_other_clusters_or_none(gap, stability, apart, expected):
    k, reason, by = recommend(criteria(gap, stability), apart)
    assert (k, by) == expected
    if by == "neighbours":
        assert f"k={k} groups have next to no near neighbours in common" in reason
        assert ("It is the end of the range" in reason) == (k == 5)
        same = "Clusters around centres are the same, but by cost no number stands out."
        assert (same in reason) == (apart.alike >= 0.8)


def test_blobs_of_groups_stay_with_their_costs():
    """Two groups, of five near blobs and of a far one: as many centres would cut the larger group."""
    centers = [[0, 0], [3, 0], [0, 3], [3, 3], [1.5, -2.5], [12, 12]]
    X, _ = make_blobs([100] * 5 + [25], centers=centers, cluster_std=0.6, random_state=0)
    found = choose_k(X, k_max=9, random_state=0)
    assert (found.k, found.by) == (6, "cost")
