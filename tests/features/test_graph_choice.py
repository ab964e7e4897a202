"""Which graph is taken: directions, neighbours and columns, by what halves of the landmarks agree on."""

from __future__ import annotations

from itertools import chain, repeat

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from powerkmeans import KernelPowerKMeans
from powerkmeans.features.graph.agreement import agree, agreement, compared_rows
from powerkmeans.features.graph.build import GraphSize, Rows, build_graph, n_directions
from powerkmeans.features.graph.placing import Placing, origin_of
from powerkmeans.features.maps.base import Tools


def overlapping(seed=0, n=200, apart=1.9):
    """Three clouds of ten columns that run into each other."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=(n, 10)) + apart * np.eye(10)[j] for j in range(3)])


def base_of(rows, k, **parameters):
    model = KernelPowerKMeans(k, feature_map="graph", random_state=0, advice=False, **parameters).fit(rows)
    return model._fit.model.maps[0].base


def test_more_neighbours_where_clouds_run_into_each_other():
    rows = overlapping()
    assert base_of(rows, 3).n_neighbors == 40
    assert base_of(rows, 3, n_neighbors=10).n_neighbors == 10  # as told
    assert base_of(rows[:110], 3).n_neighbors == 10  # forty would be more than a cluster has landmarks


def test_few_neighbours_where_there_are_shapes():
    rows, y = make_moons(400, noise=0.06, random_state=0)
    model = KernelPowerKMeans(2, feature_map="graph", random_state=0, advice=False).fit(rows)
    assert model._fit.model.maps[0].base.n_neighbors == 10
    assert adjusted_rand_score(y, model.labels_) > 0.9


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
    tools = Tools(cluster=lambda features, weight: next(answers))
    some = Rows(rows, np.ones(180), tools)
    size = GraphSize(180, 10, 3)
    placing = Placing(origin_of(rows, (0, 10)), (0, 10))
    rng = np.random.default_rng(0)
    found = agree(compared_rows(some, rng), build_graph(some, placing, rows, size), size, rng)
    odd = agreement(np.arange(180) % 3, np.arange(180) // 60, np.ones(180))
    assert found.value == pytest.approx((1 + 2 * odd) / 3)
