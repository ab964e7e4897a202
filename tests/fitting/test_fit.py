"""The pieces of a fit that no other test sees by themselves."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from helpers import blobs, quick
from powerkmeans import KernelPowerKMeans
from powerkmeans.compute.rows import RowEngine
from powerkmeans.fitting.finish import reordered
from powerkmeans.types import Iteration

INITS = ("cloud", "k-means++", "random", "auto")


def line(*groups):
    return Iteration(-1.0, 1.0, 1.0, 0.0, len(set(groups)), (1.0,), groups)


def test_groups_follow_their_centroids_when_these_are_renumbered():
    together, apart = reordered((line(0, 0, 2), line(0, 1, 2)), np.array([2, 0, 1]))
    assert together.groups == (0, 1, 1)
    assert apart.groups == (0, 1, 2)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_empty_clusters_come_last_in_the_history_too():
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 4)), 20, axis=0)
    model = KernelPowerKMeans(5, random_state=0).fit(X)
    assert model.history_["groups"].shape == (model.n_iter_, 5)
    assert len(np.unique(model.history_["groups"][-1][:3])) == 3


@pytest.mark.parametrize("feature_map", ["graph", "nystroem", "identity", "exact"])
def test_clusters_are_numbered_by_weight(feature_map):
    X, y = blobs(4)
    some = np.concatenate([np.flatnonzero(y == cluster)[: 10 * (cluster + 1)] for cluster in range(4)])
    settings = {"feature_map": feature_map, "random_state": 0}
    assert np.array_equal(quick(4, **settings).fit(X[some]).labels_, 3 - y[some])
    weight = np.array([3.0, 1.0, 4.0, 2.0])[y]
    assert np.array_equal(quick(4, **settings).fit(X, sample_weight=weight).labels_, np.array([1, 3, 0, 2])[y])


def test_equal_clusters_have_one_numbering_by_whatever_run_they_are_found():
    X, y = blobs(5)
    one, *others = (quick(5, feature_map="identity", init=init, random_state=0).fit(X) for init in INITS)
    assert adjusted_rand_score(one.labels_, y) == 1.0
    for other in others:
        assert np.array_equal(other.labels_, one.labels_)
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = quick(5, feature_map="identity", random_state=0).fit(X[order])
    assert np.array_equal(shuffled.labels_, one.labels_[order])


def test_who_places_centroids_knows_clusters_by_their_numbers():
    X, y = blobs(4)
    X, y = X[15:], y[15:]  # the first is the smallest
    given = np.array([X[y == cluster].mean(axis=0) for cluster in range(4)])
    assert np.array_equal(quick(4, feature_map="identity", init=given).fit(X).labels_, y)


def test_what_a_fit_held_is_gone_when_it_ends():
    X = np.random.default_rng(0).normal(size=(300, 4))
    engines, original = [], RowEngine.with_features

    def remembered(*arguments, **options):
        engines.append(weakref.ref(engine := original(*arguments, **options)))
        return engine

    gc.collect()
    gc.disable()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RowEngine, "with_features", remembered)
            KernelPowerKMeans(3, random_state=0, advice=False).fit(X)
        assert engines
        assert [engine() for engine in engines] == [None] * len(engines)
    finally:
        gc.enable()
