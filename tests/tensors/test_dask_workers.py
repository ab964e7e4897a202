"""Workers of Dask with engines on PyTorch: the answer of one machine, by threads here and by processes."""

from __future__ import annotations

import logging
import pickle
import threading

import numpy as np
import pytest
import torch

from helpers import blobs, quick
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.executors.torch import Torch
from powerkmeans.engines import DaskOptions, TorchOptions
from powerkmeans.features.maps.identity import IdentityMap
from powerkmeans.objective.linearised import scatter_sums
from powerkmeans.sources.dask import DaskColumn, open_dask
from powerkmeans.types import Views

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

ROWS = blobs(3, 4, size=400, spread=0.8, seed=3)[0]
LAZY = da.from_array(ROWS, chunks=(300, 4))


def options(client=None, **more):
    return DaskOptions(client, rows_per_task=1, worker=TorchOptions("cpu"), **more)


@pytest.fixture
def client():
    made = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    )
    with made, distributed.Client(made) as found:
        yield found


def test_a_fit_on_workers_with_pytorch_is_that_of_one_machine(client):
    model = quick(3, feature_map="identity", random_state=0).fit(ROWS)
    there = quick(3, feature_map="identity", random_state=0, engine=options(client)).fit(LAZY)
    assert np.array_equal(model.labels_, there.labels_.compute())
    np.testing.assert_allclose(there.cluster_centers_, model.cluster_centers_, rtol=0, atol=1e-10)
    assert np.array_equal(there.predict(LAZY).compute(), model.predict(ROWS))
    np.testing.assert_allclose(there.cluster_means(LAZY), model.cluster_means(ROWS), rtol=1e-12)


@pytest.mark.parametrize("budget", [None, 0])
def test_tasks_open_the_engine_that_was_asked_for(monkeypatch, budget):
    """By threads of this process, several at once."""
    seen, run = set(), Torch.run
    monkeypatch.setattr(Torch, "run", lambda self, *given: seen.add(str(self.device)) or run(self, *given))
    views = Views(("X",), (open_dask(LAZY),), DaskColumn(None, len(ROWS), np.dtype(np.float64)))
    engine = open_engine(options(memory_budget=budget), views).with_features((IdentityMap(4),), keep=True)
    assert engine.stored == (budget is None)
    found = engine.fold(scatter_sums, None)
    np.testing.assert_allclose(found.scatter, [np.sum(ROWS**2)], rtol=1e-12)
    assert seen == {"cpu"}


def test_the_last_thread_restores_how_products_are_computed():
    switch = torch.backends.mkldnn.matmul
    if not hasattr(switch, "fp32_precision"):
        pytest.skip("this PyTorch has one switch for all")
    before, inside, leave = switch.fp32_precision, threading.Event(), threading.Event()

    def hold():
        with Torch("cpu", "tf32").products():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=hold)
    with Torch("cpu", "tf32").products():
        thread.start()
        inside.wait(10)
    assert switch.fp32_precision == "tf32"  # the other one still computes
    leave.set()
    thread.join()
    assert switch.fp32_precision == before


def test_wrong_workers_and_options_that_travel():
    with pytest.raises(ValueError, match=r"worker.* must be TorchOptions\(\.\.\.\) or None"):
        DaskOptions(worker="cuda")
    assert pickle.loads(pickle.dumps(options())) == options()
