"""The pieces of a fit that no other test sees by themselves."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from powerkmeans import KernelPowerKMeans
from powerkmeans.compute.engine import RowEngine
from powerkmeans.fitting.finish import reordered
from powerkmeans.types import Iteration


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
