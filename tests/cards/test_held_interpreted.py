"""What kernels tell of planes that several devices hold, and of passes that came before."""

import threading

import numpy as np
import pytest

from powerkmeans.compute import blocks as blocks_module
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.executors import torch as executor
from powerkmeans.compute.passes import choose_pass, run_pass
from powerkmeans.compute.triton import launches
from powerkmeans.compute.triton.passes import TritonPass
from powerkmeans.compute.triton.planes import PlaneBlocks
from powerkmeans.engines import TorchOptions
from powerkmeans.features.maps.identity import IdentityMap
from powerkmeans.objective.block import block_statistics, prepare
from powerkmeans.objective.membership import Fuzzy
from powerkmeans.types import Parameters, Problem, Views

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

RNG = np.random.default_rng(0)
ROWS, WEIGHT = RNG.normal(size=(100, 3)).astype(np.float32), RNG.uniform(0.5, 2, 100).astype(np.float32)
PROBLEM = Problem(Fuzzy(), (0, 3), np.ones(1), np.ones(1))


def inputs_at(centers):
    return prepare(Parameters(centers, np.ones(1)), -3.0, PROBLEM, np.dtype(np.float32))


def held_by(device):
    return open_engine(TorchOptions(device), Views(("X",), (ROWS,), WEIGHT)).with_features((IdentityMap(3),), True)


def test_every_device_runs_the_kernels_on_its_planes(monkeypatch):
    monkeypatch.setattr(executor, "available", lambda device: True)
    monkeypatch.setattr(blocks_module, "BLOCK_BYTES", 2**8)  # 32 rows
    run, alone_there = TritonPass.run, threading.Lock()

    def one_at_a_time(self, *given):  # the interpreter takes the place of Triton's functions in all threads
        with alone_there:
            return run(self, *given)

    monkeypatch.setattr(TritonPass, "run", one_at_a_time)
    inputs = inputs_at(ROWS[:2].astype(np.float64) + 0.5)
    alone, shared = held_by("cpu"), held_by(["cpu"] * 3)
    assert [type(part) for part in shared.blocks.parts] == [PlaneBlocks] * 3
    assert [len(part.weight) for part in shared.blocks.parts] == [36, 32, 32]
    assert choose_pass(shared, inputs).name == "Triton on 3 devices"
    one, three = (run_pass(engine, inputs, block_statistics) for engine in (alone, shared))
    for name in ("mass", "moment", "scatter", "sizes", "loss", "hard_cost"):  # 100 numbers added in another order
        found, wanted = np.asarray(getattr(three, name)), np.asarray(getattr(one, name))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=100 * 2.0**-24 * np.max(np.abs(wanted)))


def test_a_pass_tells_the_same_whatever_came_before(monkeypatch):
    """One with near distances, which have to be measured again, and one without; kernels that differ in a bit."""
    monkeypatch.setattr(executor, "available", lambda device: True)
    sums = launches._sums
    monkeypatch.setattr(launches, "_sums", lambda given, careful: marked(sums(given, careful), careful))
    near, far = inputs_at(ROWS[:2].astype(np.float64)), inputs_at(np.array([[40.0, 0, 0], [0, 40.0, 0]]))
    fresh = [run_pass(held_by("cpu"), one, block_statistics).hard_cost for one in (near, far)]
    engine = held_by("cpu")
    again = [run_pass(engine, one, block_statistics).hard_cost for one in (far, near, near, far, far, near)]
    assert again == [fresh[1], fresh[0], fresh[0], fresh[1], fresh[1], fresh[0]]


def marked(found, careful):
    return found._replace(hard_cost=found.hard_cost + (1e-3 if careful else 0.0))
