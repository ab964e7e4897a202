"""Squared distances: by a product where it has the digits, from differences where it has lost them."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import make_problem
from powerkmeans.objective.distances import squared_distances
from powerkmeans.solver.mm import groups_together
from powerkmeans.solver.starts import plus_plus
from powerkmeans.types import Parameters


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_two_thirds_of_the_digits_are_right_wherever_the_rows_lie(dtype, offset):
    rng = np.random.default_rng(0)
    rows = (offset + rng.normal(size=(40, 30))).astype(dtype)
    points = np.concatenate([rows[:5], (offset + rng.normal(size=(5, 30))).astype(dtype)])
    exact = np.sum((points.astype(np.longdouble)[:, None] - rows.astype(np.longdouble)) ** 2, axis=2)
    found = squared_distances(points, rows, np)
    assert found.dtype == dtype
    assert np.all(found[np.arange(5), np.arange(5)] == 0)
    # eps^(1/3) of the norms must be left, and a sum of 30 products is rounded 30 times
    eps = float(np.finfo(dtype).eps)
    assert np.all(np.abs(found - exact) <= 30 * eps ** (2 / 3) * exact)


def test_starts_see_clusters_beside_an_outlier():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 50)
    X = 50 * np.eye(3)[y] + rng.normal(size=(150, 3))
    X = np.vstack([X, np.full((1, 3), 1e12)])
    X -= X.mean(axis=0)
    chosen = plus_plus(X, np.ones(151), 4, rng)
    assert set(np.append(y, 3)[chosen].tolist()) == {0, 1, 2, 3}


def test_centroids_are_apart_beside_one_that_is_far_off():
    problem = make_problem([np.eye(2)])
    centers = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1e-9], [1e12, 0.0]])
    assert groups_together(Parameters(centers, np.ones(1)), problem, 0.1).tolist() == [0, 1, 1, 3]
    same = np.repeat([[1e3, 1e3 / 3]], 2, axis=0) * [[1.0], [1 + 1e-15]]
    assert groups_together(Parameters(same, np.ones(1)), problem, 0.0).tolist() == [0, 0]
