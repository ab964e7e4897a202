"""Tensors of the processor: rows of NumPy in their place, by the code for processors unless PyTorch is named."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from helpers import blobs, make_present
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.executors.torch import Torch
from powerkmeans.engines import TorchOptions
from powerkmeans.models.answers import model_statistics
from powerkmeans.sources.tensors import TensorSource
from powerkmeans.types import Views

X, _ = blobs(3, 4, 60, 1.0)
QUICK = {"anneal_factor": 4.0, "random_state": 0, "advice": False}


@pytest.fixture(autouse=True)
def _as_on_a_card():
    """As users have them."""


@pytest.mark.parametrize("feature_map", ["auto", "identity"])
def test_bits_are_those_of_numpy(monkeypatch, feature_map):
    monkeypatch.setattr(Torch, "run", None)
    for dtype in (np.float32, np.float64):
        rows = X.astype(dtype)
        tensor = torch.from_numpy(rows)
        expected = KernelPowerKMeans(3, feature_map=feature_map, **QUICK).fit(rows)
        found = KernelPowerKMeans(3, feature_map=feature_map, **QUICK).fit(tensor)
        assert np.array_equal(found.cluster_centers_, expected.cluster_centers_)
        answer = found.transform(tensor)
        assert isinstance(answer, torch.Tensor)
        assert np.array_equal(answer.numpy(), expected.transform(rows))
        assert found.predict(tensor).dtype == torch.int32


def test_rows_in_any_order_of_memory_have_the_same_bits():
    expected = KernelPowerKMeans(3, feature_map="identity", **QUICK).fit(X).cluster_centers_
    for tensor in (torch.from_numpy(X).T.contiguous().T, torch.from_numpy(np.repeat(X, 2, axis=0))[::2]):
        found = KernelPowerKMeans(3, feature_map="identity", **QUICK).fit(tensor).cluster_centers_
        assert np.array_equal(found, expected)


def test_nothing_is_copied_and_pytorch_is_there_for_who_names_it():
    tensor = torch.from_numpy(X)
    views = Views(("X",), (TensorSource("X", tensor),), np.ones(len(X)))
    (rows,) = open_engine("auto", views).views.arrays
    assert rows.ctypes.data == tensor.data_ptr()
    assert open_engine("auto", views).code != "torch"
    for device in (None, "cpu"):
        assert open_engine(TorchOptions(device=device), views).code == "torch"


def test_sums_of_exact_kernels_with_missing_views_are_those_of_numpy():
    """On blobs that overlap, where whole fits amplify rounding: those of two processors are 1e-6 apart there."""
    rows, _ = blobs(4, 6, 20, 3.0, seed=2)
    present = make_present(len(rows), 2, np.random.default_rng(2), 0.4)
    tables = {
        "a": np.where(present[:, :1], rows[:, :3], np.nan),
        "b": np.where(present[:, 1:], rows[:, 3:], np.nan),
    }
    model = MultiViewPowerKMeans(4, feature_map="exact", engine="numpy", **QUICK).fit(tables)
    views = model._check_new(tables, None)
    here, there = (model_statistics(model._fit.model, views, engine) for engine in ("numpy", TorchOptions("cpu")))
    for name in ("mass", "moment", "scatter", "sizes", "loss", "hard_cost"):
        found, known = np.asarray(getattr(there, name)), np.asarray(getattr(here, name))
        np.testing.assert_allclose(found, known, rtol=0, atol=1e-12 * max(1.0, float(np.max(np.abs(known)))))
    plain, torched = model.transform(tables), model.set_params(engine=TorchOptions("cpu")).transform(tables)
    np.testing.assert_allclose(torched, plain, rtol=0, atol=1e-7)  # roots of squares that are off by 1e-14
