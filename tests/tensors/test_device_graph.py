"""A graph on a device: rows near landmarks keep their digits, and features stay where they are made."""

from __future__ import annotations

import array_api_compat.torch as xp
import numpy as np
import pytest
import torch

from powerkmeans import KernelPowerKMeans
from powerkmeans.compute.executors.torch import Torch
from powerkmeans.engines import TorchOptions
from powerkmeans.features.graph import distances
from powerkmeans.features.graph.distances import Landmarks
from powerkmeans.features.graph.neighbours import neighbours

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("at_once", [2**26, 40])
def test_near_landmarks_are_measured_by_differences(monkeypatch, at_once):
    """A billionth from a landmark that is a thousand away from the origin: squares have nothing left of that."""
    monkeypatch.setattr(distances, "_DIFFERENCES", at_once)
    one, landmarks = np.ones(1), 1e3 + RNG.normal(size=(30, 3))
    rows = np.concatenate([landmarks[:9] + 1e-6 * RNG.normal(size=(9, 3)), 1e3 + RNG.normal(size=(9, 3))])
    wanted = neighbours(rows, Landmarks(landmarks, (0, 3), one, one, one), 4, np)
    found = neighbours(
        torch.from_numpy(rows), Landmarks(torch.from_numpy(landmarks), (0, 3), *[torch.ones(1)] * 3), 4, xp
    )
    np.testing.assert_array_equal(found.index, wanted.index)
    np.testing.assert_allclose(found.share, wanted.share, rtol=1e-9)
    np.testing.assert_allclose(found.reach, wanted.reach, rtol=1e-9)


@pytest.mark.parametrize("budget", [None, 0])
def test_features_stay_on_the_device_where_there_is_room(monkeypatch, budget):
    made, stacked = [], Torch.stacked
    monkeypatch.setattr(Torch, "stacked", lambda self, *given: made.append(stacked(self, *given)) or made[-1])
    rows = RNG.normal(size=(300, 4)) + 6 * np.eye(3, 4)[RNG.integers(3, size=300)]
    settings = {"feature_map": "graph", "anneal_factor": 4.0, "random_state": 0, "advice": False}
    found = KernelPowerKMeans(3, engine=TorchOptions("cpu", memory_budget=budget), **settings).fit(rows)
    expected = KernelPowerKMeans(3, engine="numpy", **settings).fit(rows)
    assert len(made) == (budget is None)
    assert np.array_equal(found.labels_, expected.labels_)
    assert np.array_equal(found.predict(rows), expected.labels_)
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-9, atol=1e-9)
