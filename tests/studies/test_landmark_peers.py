"""LSC and U-SPEC: their equations against dense literal ones, and shapes, duplicates and few rows."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.methods import METHODS, find, landmarks, lsc, uspec
from scipy.linalg import eigh, orth
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

PEERS = ("LSC-R", "LSC-K", "U-SPEC", "SpectralClustering, neighbours")
WITH_LANDMARKS = PEERS[:3]


def labels_of(name, X, k, seed=0):
    return find("single", name).run([X], k, seed).labels


def same_span(first, second):
    """The cosines of the angles between two subspaces."""
    return np.linalg.svd(orth(first).T @ orth(second), compute_uv=False)


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
def test_shapes_are_found(name):
    for X, y in (
        make_moons(600, noise=0.05, random_state=0),
        make_circles(600, factor=0.4, noise=0.04, random_state=0),
    ):
        assert adjusted_rand_score(y, labels_of(name, X.astype(np.float32), 2)) > 0.95


@pytest.mark.parametrize("name", WITH_LANDMARKS)
def test_a_seed_is_an_answer(name):
    X, _ = make_blobs(300, centers=4, random_state=1)
    assert np.array_equal(labels_of(name, X, 4, 5), labels_of(name, X, 4, 5))


@pytest.mark.parametrize("name", WITH_LANDMARKS)
def test_duplicates_and_few_rows(name):
    rows = np.array([[0.0, 0.0], [0.1, 0.0], [9.0, 9.0], [9.1, 9.0]])
    labels = labels_of(name, np.repeat(rows, 50, axis=0), 2)
    assert adjusted_rand_score(np.repeat([0, 0, 1, 1], 50), labels) == 1
    labels = labels_of(name, rows, 2)
    assert adjusted_rand_score([0, 0, 1, 1], labels) == 1


@pytest.mark.parametrize("name", PEERS)
def test_they_are_in_both_tables_and_take_one_view(name):
    assert METHODS["single"][name] is METHODS["multi"][name]
    assert not find("multi", name).several


def test_the_number_of_landmarks():
    assert landmarks.affordable(1000, 10_000, 8) == 1000
    assert landmarks.affordable(1000, 300, 8) == 150
    assert landmarks.affordable(1000, 20, 8) == 16
    assert landmarks.affordable(1000, 10, 8) == 10


def test_nearest_landmarks_whatever_the_blocks():
    rng = np.random.default_rng(0)
    X, marks = rng.normal(size=(50, 3)), rng.normal(size=(9, 3))
    found, distances = landmarks.nearest(X, marks, 4), cdist(X, marks)
    assert np.array_equal(np.sort(found.indices, axis=1), np.sort(np.argsort(distances, axis=1)[:, :4], axis=1))
    assert np.allclose(np.sort(found.distances, axis=1), np.sort(distances, axis=1)[:, :4])
    assert found.mean == pytest.approx(distances.mean())


def literal_lsc(X, marks, r, k):
    """Z row by row, and the eigenvectors of the graph of all rows."""
    n, p = len(X), len(marks)
    h = np.mean([np.linalg.norm(x - u) for x in X for u in marks])
    Z = np.zeros((n, p))
    for i in range(n):
        distances = np.linalg.norm(X[i] - marks, axis=1)
        for j in np.argsort(distances)[:r]:
            Z[i, j] = np.exp(-(distances[j] ** 2) / (2 * h**2))
        Z[i] /= Z[i].sum()
    hat = Z[:, Z.sum(axis=0) > 0] / np.sqrt(Z.sum(axis=0)[Z.sum(axis=0) > 0])
    return Z, eigh(hat @ hat.T)[1][:, -k:]


def test_lsc_is_its_equations():
    X, _ = make_blobs(80, centers=5, n_features=3, center_box=(-4, 4), random_state=0)
    marks = lsc.choose_landmarks(X, 25, lsc.RANDOM, 0)
    expected, vectors = literal_lsc(X, marks, 5, 4)
    Z = lsc.representation(X, marks, 5)
    assert np.allclose(Z.toarray(), expected)
    found = lsc.left_singular_vectors(Z, 4)
    assert np.allclose(found.T @ found, np.eye(4))
    assert np.allclose(same_span(found, vectors), 1)


def test_rows_far_from_all_landmarks_have_weights():
    marks = np.array([[0.0], [1.0], [2.0]])
    Z = lsc.representation(np.array([[0.5], [1.5], [1e6]]), marks, 2).toarray()
    assert np.allclose(Z.sum(axis=1), 1)


def test_uspec_is_the_normalised_cut_of_the_bipartite_graph():
    X, _ = make_blobs(70, centers=5, n_features=3, center_box=(-4, 4), random_state=2)
    B = uspec.affinities(X, uspec.hybrid_selection(X, 20, 0), 5)
    dense = B.toarray()[:, B.sum(axis=0) > 0]
    distances = np.sort(cdist(X, uspec.hybrid_selection(X, 20, 0)), axis=1)[:, :5]
    assert np.allclose(np.sort(dense, axis=1)[:, -5:], np.exp(-((distances[:, ::-1] / distances.mean()) ** 2) / 2))
    n, m = dense.shape
    graph = np.block([[np.zeros((n, n)), dense], [dense.T, np.zeros((m, m))]])
    degrees = np.diag(graph.sum(axis=1))
    values, vectors = eigh(degrees - graph, degrees)
    assert values[3] < values[4] - 1e-6  # else the span is not defined
    assert np.allclose(same_span(uspec.transfer_cut(B, 4), vectors[:n, :4]), 1, atol=1e-6)


def test_hybrid_selection_takes_centres_of_some_rows():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    chosen = uspec.hybrid_selection(X, 10, 0)
    assert chosen.shape == (10, 2)
    assert not np.array_equal(chosen, uspec.hybrid_selection(X, 10, 1))
    assert np.array_equal(uspec.hybrid_selection(X[:8], 10, 0), np.unique(X[:8], axis=0))


def test_landmarks_are_random_or_means():
    with pytest.raises(ValueError, match="'random' or 'k-means', not 'best'"):
        lsc.choose_landmarks(np.zeros((3, 1)), 2, "best", 0)
