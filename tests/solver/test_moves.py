"""Out of a local minimum: centroids that move to where they save more, and rows that only hold themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from powerkmeans.objective.membership import make_membership
from powerkmeans.solver.holdings import Measure, holdings
from powerkmeans.solver.release import _savings, release_rows
from powerkmeans.solver.relocate import _recovered, _split, propose_moves, split_most

PLAIN = Measure(make_membership("fuzzy", 2.0), 1.0)


def proposals(X, centers, measure=PLAIN, margin=0.01):
    return propose_moves(X, np.ones(len(X)), centers, measure, margin)


def propose(X, centers, measure=PLAIN, margin=0.01):
    """The first proposal."""
    found = proposals(X, centers, measure, margin)
    return found[0].centers if found else None


def cost(X, centers, weight=1.0):
    return float(np.sum(weight * np.min(((X[:, None] - centers) ** 2).sum(-1), axis=1)))


def k_means(X, centers, weight=None):
    """The centroids where steps of k-means end."""
    weight = np.ones(len(X)) if weight is None else weight
    for _ in range(100):
        labels = np.argmin(((X[:, None] - centers) ** 2).sum(-1), axis=1)
        parts = [(X[labels == j], weight[labels == j]) for j in range(len(centers))]
        centers = np.array([w @ x / np.sum(w) if len(x) else c for (x, w), c in zip(parts, centers, strict=True)])
    return centers


def test_an_outlier_does_not_hold_a_centroid_if_the_membership_bounds_it():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.05, (30, 2)) for c in (0.0, 1.0)] + [[[1e4, 1e4]]])
    stuck = np.array([[0.5, 0.5], [1e4, 1e4]])
    assert propose(X, stuck) is None
    moved = propose(X, stuck, Measure(make_membership("possibilistic", 2.0), 0.5))
    assert sorted(np.round(moved[:, 0]).tolist()) == [0.0, 1.0]


def test_a_split_gains_what_its_halves_save_within_the_cluster():
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.normal(c, 0.3, (20, 2)) for c in (1.0, 3.0)])  # not about the origin
    weight = rng.uniform(0.5, 3, 40)
    center = weight @ X / np.sum(weight)
    split = _split(X, holdings(X, weight, center[None], PLAIN), 0)
    assert split.halves == pytest.approx(k_means(X, split.halves, weight))
    assert split.gain == pytest.approx(cost(X, center[None], weight) - cost(X, split.halves, weight))


def test_a_move_repairs_a_merged_pair():
    X = np.concatenate([np.random.default_rng(0).normal(c, 0.05, (30, 2)) for c in (0.0, 1.0, 5.0)])
    stuck = np.array([[0.5, 0.5], [4.9, 5.0], [5.1, 5.0]])
    moved = propose(X, stuck)
    assert moved is not None
    assert sorted(np.round(moved[:, 0]).tolist()) == [0.0, 1.0, 5.0]
    good = np.array([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0]])
    assert propose(X, good) is None
    assert propose(X, good[:1]) is None


def test_deleting_a_centroid_counts_what_its_heirs_recover():
    """What a deletion costs is the difference of k-means costs after the heirs have moved to their means."""
    rng = np.random.default_rng(1)
    X, weight = rng.normal(size=(200, 3)), rng.uniform(0.5, 2.0, 200)
    centers = X[:5]
    for _ in range(50):  # deletions are judged at means
        labels = np.argmin(((X[:, None] - centers) ** 2).sum(-1), axis=1)
        centers = np.array([np.average(X[labels == j], axis=0, weights=weight[labels == j]) for j in range(5)])
    squares = ((X[:, None] - centers) ** 2).sum(-1)
    labels, heirs = np.argsort(squares, axis=1)[:, :2].T
    rows = np.arange(200)
    lost = weight * (squares[rows, heirs] - squares[rows, labels])
    recovered = _recovered(X, centers, (labels, heirs), (weight, weight))
    for j in range(5):
        new = np.where(labels == j, heirs, labels)
        cost = 0.0
        for i in set(new):
            part, w = X[new == i], weight[new == i]
            cost += w @ ((part - np.average(part, axis=0, weights=w)) ** 2).sum(-1)
        assert np.sum(lost[labels == j]) - recovered[j] == pytest.approx(cost - weight @ squares[rows, labels])


def test_a_move_unites_the_halves_of_a_round_cluster():
    """Rows of one half are far from the mean of the other, though both would do with one centroid."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 1.0, (500, 8)) for c in (0.0, 1.0, 6.0)])
    right = X[1000:, 0] > 6.0
    stuck = np.array([X[:1000].mean(0), X[1000:][right].mean(0), X[1000:][~right].mean(0)])
    moved = propose(X, stuck)
    assert moved is not None
    assert sorted(np.round(moved.mean(axis=1)).tolist()) == [0.0, 1.0, 6.0]


def test_a_split_finds_the_groups_among_many_dimensions():
    """The axis between two groups is hardly longer than those of their noise."""
    agreed = []
    for seed in range(6):
        X = np.random.default_rng(seed).normal(size=(120, 400))
        X[60:, 0] += 4.5
        first, second = split_most(X, np.ones(120), X.mean(axis=0)[None], PLAIN)
        right = ((X - second) ** 2).sum(-1) < ((X - first) ** 2).sum(-1)
        agreed.append(np.mean(right == (np.arange(120) >= 60)))
    assert np.mean(np.maximum(agreed, 1 - np.array(agreed))) > 0.96


def test_a_group_that_two_clusters_share_calls_for_a_centroid_of_its_own():
    """Three groups in two clusters, and a fourth in two others: in either of the first half the gain shows."""
    rng = np.random.default_rng(0)
    spots = 4 * np.eye(4, 200)
    X = np.concatenate([rng.normal(spot, 1.0, (n, 200)) for spot, n in zip(spots, (40, 40, 40, 400), strict=True)])
    left = X[:, 5] <= 0
    parts = X[:60], X[60:120], X[120:][~left[120:]], X[120:][left[120:]]
    stuck = k_means(X, np.array([part.mean(axis=0) for part in parts]))
    best = cost(X, k_means(X, spots))
    assert cost(X, stuck) > 1.002 * best
    moved = propose(X, stuck, margin=1e-5)
    assert moved is not None
    assert cost(X, k_means(X, moved)) < 1.0001 * best


def test_moves_of_different_clusters_are_made_at_once():
    rng = np.random.default_rng(0)
    spots = np.array([[0.0, 0.0], [1, 0], [20, 0], [21, 0], [0, 20], [20, 20]])
    X = np.concatenate([rng.normal(spot, 0.05, (30, 2)) for spot in spots])
    halves = [[x + step, y] for x, y in spots[4:] for step in (-0.03, 0.03)]
    stuck = np.array([[0.5, 0.0], [20.5, 0.0], *halves])
    together, *single = proposals(X, stuck)
    assert together.n_moves == 2
    assert cost(X, k_means(X, together.centers)) == pytest.approx(cost(X, k_means(X, spots)))
    assert [one.n_moves for one in single] == [1, 1]
    assert all(cost(X, one.centers) < cost(X, stuck) for one in single)


def test_both_halves_of_a_cluster_are_not_given_up_at_once():
    """Either is hardly missed while the other is there."""
    rng = np.random.default_rng(0)
    spots = np.array([[0.0, 0.0], [1, 0], [20, 0], [21, 0], [0, 20]])
    X = np.concatenate([rng.normal(spot, 0.05, (30, 2)) for spot in spots])
    found = proposals(X, np.array([[0.5, 0.0], [20.5, 0.0], [-0.03, 20], [0.03, 20]]))
    assert [proposal.n_moves for proposal in found] == [1, 1]
    assert all(np.min(((proposal.centers - spots[4]) ** 2).sum(-1)) < 0.1 for proposal in found)


def test_rows_that_hold_themselves_are_let_go():
    """Among few rows of many dimensions each is nearest to the mean that it is part of, wherever it belongs."""
    X = np.random.default_rng(0).normal(size=(60, 300))
    X[30:, :2] += 4.0
    mixed = np.arange(60) >= 30
    mixed[[0, 1, 2, 57, 58, 59]] ^= True
    stuck = k_means(X, np.array([X[~mixed].mean(axis=0), X[mixed].mean(axis=0)]))
    truth = np.array([X[:30].mean(axis=0), X[30:].mean(axis=0)])
    assert cost(X, stuck) > 1.002 * cost(X, truth)
    assert np.allclose(release_rows(X, np.ones(60), stuck, PLAIN, 1e-5), truth)
    assert release_rows(X, np.ones(60), truth, PLAIN, 1e-5) is None
    assert release_rows(X, np.ones(60), stuck[:1], PLAIN, 1e-5) is None
    assert release_rows(X, np.ones(60), stuck, PLAIN, 0.5) is None


def test_what_a_row_saves_by_leaving_is_the_difference_of_costs():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(30, 4)), rng.uniform(0.5, 2.0, 30)
    stuck = k_means(X, X[:3], weight)
    held = holdings(X, weight, stuck, PLAIN)
    saved = _savings(held, np.bincount(held.labels, weights=weight), weight)
    for row in range(30):
        moved = np.where(np.arange(30) == row, held.heirs, held.labels)
        parts = [(X[moved == j], weight[moved == j]) for j in range(3)]
        after = sum(w @ ((x - w @ x / np.sum(w)) ** 2).sum(-1) for x, w in parts)
        assert saved[row] == pytest.approx(cost(X, stuck, weight) - after)


@st.composite
def stuck_centroids(draw):
    """Rows with weights, and centroids where k-means ends."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, k, d = draw(st.integers(4, 40)), draw(st.integers(2, 5)), draw(st.integers(1, 30))
    X = rng.normal(size=(n, d))
    if draw(st.booleans()):
        X = np.round(X)  # ties, repeated rows, rows at centroids
    weight = rng.uniform(0.1, 5, n) if draw(st.booleans()) else np.ones(n)
    return X, weight, k_means(X, X[rng.choice(n, k, replace=k > n)], weight)


@given(stuck_centroids())
def test_released_rows_save_what_is_asked_for(drawn):
    X, weight, stuck = drawn
    before = cost(X, stuck, weight)
    released = release_rows(X, weight, stuck, PLAIN, 1e-3)
    if released is not None:
        assert cost(X, released, weight) <= (1 - 1e-3) * before + 1e-9


@given(stuck_centroids())
def test_one_more_centroid_never_costs_more(drawn):
    X, weight, stuck = drawn
    assert cost(X, split_most(X, weight, stuck, PLAIN), weight) <= cost(X, stuck, weight) * (1 + 1e-9) + 1e-9
