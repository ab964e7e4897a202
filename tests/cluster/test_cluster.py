"""A real cluster: the same answers whoever dies, joins or leaves, a fixed number of tasks, nothing that hangs."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from helpers import blobs, make_present, quick, quick_views
from powerkmeans import KernelPowerKMeans
from powerkmeans.compute.executors import dask as executor
from powerkmeans.engines import DaskOptions
from powerkmeans.exceptions import ClusterError

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore:The annealing did not converge")
ROWS = blobs(5, 6, size=2000, spread=1.8, seed=3)[0]
SAME = 1e-12


@pytest.fixture(autouse=True)
def time_limit(request):
    """Nothing hangs: after two minutes the process tells where it is and ends."""
    import faulthandler

    faulthandler.dump_traceback_later(120, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def same(model, other, rows):
    for a, b in zip(np.atleast_1d(model.cluster_centers_), np.atleast_1d(other.cluster_centers_), strict=True):
        assert np.allclose(a, b, rtol=0, atol=SAME * max(1.0, float(np.max(np.abs(a)))))
    assert np.allclose(model.view_weights_, other.view_weights_, rtol=0, atol=SAME)
    assert np.array_equal(model.labels_, other.labels_.compute())


@pytest.mark.parametrize("feature_map", ["auto", "nystroem", "rff", "identity"])
@pytest.mark.parametrize("n_chunks", [1, 2, 7])
def test_the_answer_of_one_machine(client, feature_map, n_chunks):
    lazy = da.from_array(ROWS, chunks=(-(-len(ROWS) // n_chunks), 6))
    model = quick(5, feature_map=feature_map, random_state=0).fit(ROWS)
    bound = quick(5, feature_map=feature_map, random_state=0).fit(lazy)
    same(model, bound, ROWS)
    if model.feature_map_ != "graph":  # one task has all chunks, and its blocks are those of one machine
        assert np.array_equal(model.cluster_centers_, bound.cluster_centers_)
    apart = quick(5, feature_map=feature_map, random_state=0, engine=DaskOptions(client, rows_per_task=1)).fit(
        lazy
    )
    same(model, apart, ROWS)


def test_views_weights_and_missing_ones(client):
    rng = np.random.default_rng(0)
    weight, present = rng.uniform(0.5, 2, len(ROWS)), make_present(len(ROWS), 2, rng, 0.2)
    views = {
        "a": np.where(present[:, :1], ROWS[:, :3], np.nan),
        "b": np.where(present[:, 1:], ROWS[:, 3:], np.nan),
    }
    lazy = {"a": da.from_array(views["a"], chunks=1500), "b": da.from_array(views["b"], chunks=(2700, 2))}
    for feature_map in ("auto", "nystroem"):
        model = quick_views(5, feature_map=feature_map, random_state=0).fit(views, sample_weight=weight)
        other = quick_views(5, feature_map=feature_map, random_state=0, engine=DaskOptions(rows_per_task=2000))
        other.fit(lazy, sample_weight=da.from_array(weight, chunks=999))
        same(model, other, views)


class Held(threading.Event):
    """Pauses a fit after some iterations, so that something can happen to the cluster."""

    def __init__(self, after, act):
        super().__init__()
        self.after, self.act, self.count = after, act, 0

    def __call__(self, *args):
        self.count += 1
        if self.count == self.after:
            self.act()


@pytest.fixture
def at_pass(monkeypatch):
    """Does something when a fit on a cluster asks for its so manieth results."""

    def when(after, act):
        held, results = Held(after, act), executor.Workers.results

        def held_results(self, tasks, **told):
            held()
            return results(self, tasks, **told)

        monkeypatch.setattr(executor.Workers, "results", held_results)
        return held

    return when


def slow(rows):
    time.sleep(0.02)
    return rows


@pytest.mark.parametrize("budget", [None, 0], ids=["kept", "recomputed"])
def test_a_worker_that_is_killed(client, at_pass, budget):
    lazy = da.from_array(ROWS, chunks=(1000, 6)).map_blocks(slow, dtype=float)
    settings = {"feature_map": "nystroem", "random_state": 0, "s_init": -1.0, "max_iter": 12}
    model = KernelPowerKMeans(5, **settings, advice=False).fit(ROWS)

    def kill():
        os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)

    held = at_pass(10, kill)
    engine = DaskOptions(client, rows_per_task=1000, memory_budget=budget)
    other = KernelPowerKMeans(5, **settings, advice=False, engine=engine).fit(lazy)
    assert held.count > 10
    same(model, other, ROWS)


def test_workers_that_join_and_leave(at_pass):
    settings = {"feature_map": "rff", "random_state": 0, "s_init": -1.0, "max_iter": 10, "advice": False}
    model = KernelPowerKMeans(5, **settings).fit(ROWS)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        held = at_pass(5, lambda: cluster.scale(2))
        other = KernelPowerKMeans(5, **settings, engine=DaskOptions(client, rows_per_task=1000))
        other.fit(da.from_array(ROWS, chunks=(1000, 6)))
        same(model, other, ROWS)
        assert held.count > 5
        client.wait_for_workers(2, timeout=60)
        at_pass(5, lambda: cluster.scale(1))
        same(model, other.fit(da.from_array(ROWS, chunks=(1000, 6))), ROWS)


class Counter(distributed.diagnostics.SchedulerPlugin):
    """Counts the tasks that workers have done."""

    name = "counter"

    def __init__(self):
        self.tasks = 0

    def transition(self, key, start, finish, *args, **kwargs):
        self.tasks += start == "processing" and finish == "memory"


def _tasks(dask_scheduler):
    return dask_scheduler.plugins["counter"].tasks, len(dask_scheduler.tasks)


def test_tasks_of_an_iteration_and_memory_over_many(client, at_pass):
    """A pass is a task for its parameters, one a group, and what adds more than sixteen; none of it stays."""
    client.register_plugin(Counter())
    for n_chunks, expected in ((4, 4 + 1), (40, 40 + 1 + 3)):
        lazy = da.from_array(ROWS, chunks=(len(ROWS) // n_chunks, 6))
        settings = {"feature_map": "rff", "s_init": -1.0, "random_state": 0, "tol": 0.0, "advice": False}
        settings["init"] = ROWS[::2000]
        model = KernelPowerKMeans(5, **settings, engine=DaskOptions(client, rows_per_task=len(ROWS) // n_chunks))
        counted = {}
        for iterations in (10, 30):
            before = client.run_on_scheduler(_tasks)[0]
            model.set_params(max_iter=iterations).fit(lazy)
            counted[iterations] = client.run_on_scheduler(_tasks)[0] - before
        assert counted[30] - counted[10] == 20 * expected
    client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.remove_plugin(name="counter"))
    del model, lazy
    memory, n_tasks = [], []
    for _ in range(2):
        model = KernelPowerKMeans(5, **settings, engine=DaskOptions(client, rows_per_task=2500), max_iter=200)
        model.fit(da.from_array(ROWS, chunks=(500, 6)))
        del model
        until = time.monotonic() + 10
        while client.run_on_scheduler(_kept) and time.monotonic() < until:
            time.sleep(0.05)
        n_tasks.append(client.run_on_scheduler(_kept))
        memory.append([*client.run(_anonymous).values(), client.run_on_scheduler(_anonymous)])
    assert n_tasks == [0, 0]
    growth = np.array(memory[1]) - np.array(memory[0])
    assert np.max(growth) < 20, memory  # megabytes, after 200 iterations more


def _kept(dask_scheduler):
    return len(dask_scheduler.tasks)


def _anonymous(dask_scheduler=None):
    import gc

    gc.collect()
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("RssAnon"))


DRIVER = """
import sys, numpy as np, dask.array as da
from distributed import Client
from powerkmeans import KernelPowerKMeans
from powerkmeans.engines import DaskOptions
from powerkmeans.fitting import checkpoints
checkpoints.ITERATIONS, checkpoints.SECONDS = 1, 0.0
X = np.load(sys.argv[2])
with Client(sys.argv[3]) as client:
    model = KernelPowerKMeans(5, feature_map="rff", s_init=-1.0, random_state=0, advice=False)
    model.set_params(engine=DaskOptions(client, rows_per_task=2000))
    model.fit(da.from_array(X, chunks=(1000, 6)), checkpoint=sys.argv[1])
"""


def test_a_driver_that_is_killed(client, cluster, tmp_path):
    path = tmp_path / "fit.checkpoint"
    np.save(tmp_path / "rows.npy", ROWS)
    arguments = [str(path), str(tmp_path / "rows.npy"), cluster.scheduler_address]
    child = subprocess.Popen([sys.executable, "-c", DRIVER, *arguments], stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not path.exists() and time.monotonic() < until and child.poll() is None:
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait(30)
    settings = {"feature_map": "rff", "s_init": -1.0, "random_state": 0, "advice": False}
    model = KernelPowerKMeans(5, **settings, engine=DaskOptions(client, rows_per_task=2000))
    whole = KernelPowerKMeans(5, **settings, engine=DaskOptions(client, rows_per_task=2000))
    lazy = da.from_array(ROWS, chunks=(1000, 6))
    assert np.array_equal(whole.fit(lazy).cluster_centers_, model.fit(lazy, resume_from=path).cluster_centers_)
    assert np.array_equal(whole.labels_.compute(), model.labels_.compute())


def test_a_far_value_is_told_on_a_cluster(client):
    spoilt = ROWS.copy()
    spoilt[9321, 2] = np.nan
    with pytest.raises(ValueError, match=r"X: NaN in row 9321, column 2\."):
        quick(5, engine=DaskOptions(rows_per_task=1)).fit(da.from_array(spoilt, chunks=700))


def test_a_closed_client(cluster):
    client = distributed.Client(cluster)
    engine = DaskOptions(client)
    client.close()
    with pytest.raises(ClusterError, match="client is closed"):
        quick(5, engine=engine).fit(da.from_array(ROWS, chunks=1000))


def test_a_client_that_is_closed_in_the_middle(cluster, at_pass):
    client = distributed.Client(cluster, set_as_default=False)
    at_pass(6, client.close)
    with pytest.raises(ClusterError, match="client is closed"):
        quick(5, engine=DaskOptions(client)).fit(da.from_array(ROWS, chunks=1000))


def test_a_cluster_without_workers(monkeypatch):
    monkeypatch.setattr(executor, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(executor, "PATIENCE_SECONDS", 1.0)
    with (
        distributed.LocalCluster(
            n_workers=0, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        pytest.raises(ClusterError, match="no worker"),
    ):
        quick(5, engine=DaskOptions(client)).fit(da.from_array(ROWS, chunks=1000))


def hungry(rows):
    """As a worker that the system kills for its memory."""
    os._exit(137)


def test_workers_out_of_memory():
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        lazy = da.from_array(ROWS, chunks=(1000, 6)).map_blocks(hungry, dtype=float, meta=np.empty((0, 0)))
        with pytest.raises(ClusterError, match="run out of memory"):
            quick(5, engine=DaskOptions(client, memory_budget=0)).fit(lazy)


def fit_there(rows):
    model = quick(4, feature_map="rff", random_state=0).fit(da.from_array(rows, chunks=400))
    return model.cluster_centers_


def test_a_fit_inside_a_task(client):
    """It runs by itself: a slot that waits for others would wait for ever."""
    some = ROWS[::5]
    futures = [client.submit(fit_there, some, pure=False) for _ in range(4)]
    expected = quick(4, feature_map="rff", random_state=0).fit(some).cluster_centers_
    for found in client.gather(futures):
        assert np.allclose(found, expected, rtol=0, atol=SAME)


def test_a_client_that_is_nobodys_default(cluster):
    import pickle

    from sklearn.base import clone

    from powerkmeans import explain_views

    with distributed.Client(cluster, set_as_default=False) as client:
        lazy = client.persist(da.from_array(ROWS, chunks=(2500, 6)))
        model = clone(quick(5, feature_map="rff", random_state=0, engine=DaskOptions(client)))
        assert model.engine.client is client
        expected = quick(5, feature_map="rff", random_state=0).fit(ROWS)
        assert np.isclose(model.fit(lazy).score(lazy), expected.score(ROWS), rtol=1e-12)
        views = [lazy[:, :3], lazy[:, 3:]]
        several = quick_views(5, feature_map="rff", random_state=0, engine=DaskOptions(client)).fit(views)
        assert len(explain_views(several, views)["view"]) == 2
        labels = several.predict(views)
        with client.as_current():
            assert labels.compute().shape == (len(ROWS),)
        assert pickle.loads(pickle.dumps(model)).engine.client is None
        assert len(pickle.dumps(model)) < ROWS.nbytes // 2


def test_workers_without_a_limit_keep_something():
    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            memory_limit=0,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        assert executor.Workers(client).memory() > 2**30
        model = quick(5, feature_map="rff", random_state=0, engine=DaskOptions(client, rows_per_task=1000))
        expected = quick(5, feature_map="rff", random_state=0).fit(ROWS)
        model.fit(da.from_array(ROWS, chunks=(1000, 6)))
        assert np.allclose(model.cluster_centers_, expected.cluster_centers_, rtol=0, atol=SAME)
