"""How much a cluster keeps, and how large its tasks are: no answer depends on it, so it is asked for as such."""

from __future__ import annotations

import numpy as np
import pytest

from powerkmeans.compute import cluster
from powerkmeans.compute.cluster import DaskEngine, room_for
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.executors import dask as executor
from powerkmeans.compute.progress import hearing_rows
from powerkmeans.engines import DaskOptions
from powerkmeans.features.maps.identity import IdentityMap
from powerkmeans.sources.dask import DaskColumn, DaskSource
from powerkmeans.support.memory import GIB
from powerkmeans.types import Views

da = pytest.importorskip("dask.array")


class Client:
    """A cluster whose workers have so much memory."""

    def __init__(self, *limits):
        self.limits = limits

    def scheduler_info(self, n_workers):
        return {"workers": {str(place): {"memory_limit": limit} for place, limit in enumerate(self.limits)}}


class Future:
    """What has been computed at once."""

    status = "finished"

    def add_done_callback(self, tell):
        tell(self)


def workers(client=None):
    made = object.__new__(executor.Workers)
    made._client = client
    return made


def test_workers_keep_a_share_of_their_memory():
    assert workers().memory() is None
    assert workers(Client(10**6, 3 * 10**6)).memory() == int(executor.KEPT_SHARE * 4 * 10**6)
    assert workers(Client(None)).memory() == int(executor.KEPT_SHARE * executor.UNLIMITED)


def test_what_may_be_kept_goes_by_the_budget_and_the_workers(monkeypatch):
    monkeypatch.setattr(cluster, "can_keep", lambda n_bytes, budget: n_bytes <= budget)
    assert room_for(GIB, DaskOptions(), workers())
    assert not room_for(GIB + 1, DaskOptions(), workers())
    assert not room_for(8, DaskOptions(memory_budget=7), workers())
    few = workers(Client(1000))
    assert room_for(400, DaskOptions(), few)
    assert not room_for(401, DaskOptions(), few)
    assert not room_for(400, DaskOptions(memory_budget=399), few)


def test_a_wait_tells_how_far_it_is_from_the_beginning():
    told = []
    with hearing_rows(lambda share, n_rows: told.append((share, n_rows))):
        workers(Client(1))._wait([Future(), Future()], 30)
    assert told == [(0, 30), (0.5, 30), (1, 30)]


@pytest.fixture
def engine():
    array = da.from_array(np.random.default_rng(0).normal(size=(60, 10)), chunks=(20, 10))
    weight = DaskColumn(None, 60, array.dtype)
    return open_engine(DaskOptions(), Views(("X",), (DaskSource("X", array, None),), weight))


def rows_per_task(engine, *, working=0, maps=(), stored=False):
    made = DaskEngine(engine.views, DaskOptions(), engine._workers, maps, working)
    made.stored = stored
    return made._rows_per_task()


def test_tasks_have_fewer_rows_the_longer_each_row_takes(engine):
    maps = (IdentityMap(10),)
    plain = 10 * 8 * cluster._NUMBER_SECONDS + cluster._ROW_SECONDS
    assert rows_per_task(engine) == pytest.approx(cluster.TASK_SECONDS / plain, abs=1)
    assert rows_per_task(engine, maps=maps, stored=True) == rows_per_task(engine)
    mapped = 10 * 8 * cluster._NUMBER_SECONDS + cluster._MAP_SECONDS
    assert rows_per_task(engine, maps=maps) == pytest.approx(cluster.TASK_SECONDS / mapped, abs=1)
    many = 10 * (8 + 400 / 4) * cluster._NUMBER_SECONDS + cluster._ROW_SECONDS
    assert rows_per_task(engine, working=400) == pytest.approx(cluster.TASK_SECONDS / many, abs=1)


@pytest.mark.parametrize(("budget", "held"), [(10**6, "features"), (2 * 60 * 10 * 8, "rows"), (0, "nothing")])
def test_features_are_held_or_else_rows_or_else_nothing(engine, monkeypatch, budget, held):
    monkeypatch.setattr(cluster, "can_keep", lambda n_bytes, most: n_bytes <= most)
    made = DaskEngine(engine.views, DaskOptions(memory_budget=budget), engine._workers, (IdentityMap(10),))
    made._keep()
    assert (made.stored, made._held is not None) == (held == "features", held != "nothing")
