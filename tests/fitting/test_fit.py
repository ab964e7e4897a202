"""The pieces of a fit that no other test sees by themselves."""

from __future__ import annotations

import numpy as np
import pytest

from powerkmeans import KernelPowerKMeans
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
