"""Each kernel against the equations as written, in float64, on the very numbers that its planes hold."""

import math

import numpy as np
import pytest
import torch

from powerkmeans import KernelPowerKMeans
from powerkmeans.compute.executors import torch as executor
from powerkmeans.compute.triton import launches
from powerkmeans.compute.triton.passes import PARTS, TritonPass
from powerkmeans.compute.triton.planes import OCTET, PlaneBlocks, joined, split
from powerkmeans.compute.triton.search import CardSearch, smallest
from powerkmeans.engines import TorchOptions
from powerkmeans.features.graph.distances import Landmarks
from powerkmeans.features.graph.neighbours import neighbours
from powerkmeans.objective.block import block_statistics, prepare
from powerkmeans.objective.membership import Fuzzy, Possibilistic
from powerkmeans.types import Block, Parameters, Problem

# clusters that pad a tile are infinitely far; what comes of that is thrown away
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

# a product of numbers in two parts is off by their rounding, 2^-16 for each where these are cut off as here, and
# by what the product of the lower parts is; a pull in one part is off by 2^-8
ROUNDING = {"float32": 4 * 2.0**-16, "tf32": 2.0**-7, "bfloat16": 2.0**-7}
FUSED, STAGED = "_fused", "_staged"


def problem_of(seed, n, p, k, membership, s):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, p)).astype(np.float32)
    centers, weight = rng.standard_normal((k, p)), rng.uniform(0.5, 1.5, n).astype(np.float32)
    problem = Problem(membership, (0, p), np.array([float(p)]), np.ones(1))
    inputs = [prepare(Parameters(centers, np.ones(1)), s, problem, np.dtype(t)) for t in (np.float32, np.float64)]
    return rows, weight, inputs


def held_as(rows, weight, parts, size=100):
    tensors = [torch.from_numpy(a) for a in (rows, weight)]
    starts = range(0, len(rows), size)
    blocks = (Block(i, (tensors[0][i : i + size],), (), tensors[1][i : i + size]) for i in starts)
    return PlaneBlocks(blocks, len(rows), parts, torch)


def given_to(held, inputs, precision):
    centers = np.ascontiguousarray(inputs.projections[0].T / -2)
    padded = np.pad(centers, ((0, 0), (0, -centers.shape[1] % OCTET)))
    norms = np.ascontiguousarray(inputs.center_norms[0][:, 0])
    there = (torch.from_numpy(a) for a in (padded, norms))
    return launches.Given(inputs, held, *there, PARTS[precision][1], torch)


def expected(held, exact):
    blocks = list(held.read())
    rows = np.concatenate([block.views[0].double().numpy() for block in blocks])
    block = Block(0, (rows,), (np.vecdot(rows, rows),), held.weight.double().numpy())
    return block_statistics(block, exact), rows


def check(sums, wanted, rows, precision):
    size = float(np.sum(np.abs(wanted.mass)) * np.max(np.abs(rows)) + 1)
    for name in ("mass", "moment", "scatter", "residual", "sizes", "loss", "hard_cost"):
        found, truth = np.asarray(getattr(sums, name)), np.asarray(getattr(wanted, name))
        bound = ROUNDING[precision] * max(size, float(np.max(np.abs(truth))))
        np.testing.assert_allclose(found, truth, rtol=0, atol=bound, err_msg=name)


@pytest.mark.parametrize(
    ("n", "p", "k"), [(1, 1, 1), (130, 20, 17), (77, 40, 5), (40, 257, 3)], ids=["one", "k17", "few", "p257"]
)
@pytest.mark.parametrize("membership", [Fuzzy(), Possibilistic(), Possibilistic(1.7)], ids=["fuzzy", "m2", "m1.7"])
@pytest.mark.parametrize("s", [-math.inf, -40.0, -5.0, -0.3])
def test_sums_are_those_of_the_equations(n, p, k, membership, s):
    rows, weight, (inputs, exact) = problem_of(n + k, n, p, k, membership, s)
    held = held_as(rows, weight, 2)
    check(launches.run(given_to(held, inputs, "float32")), *expected(held, exact), "float32")


@pytest.mark.parametrize("precision", list(PARTS))
@pytest.mark.parametrize("way", [FUSED, STAGED])
def test_both_ways_give_the_sums_in_every_precision(precision, way):
    rows, weight, (inputs, exact) = problem_of(0, 90, 30, 20, Possibilistic(), -4.0)
    held = held_as(rows, weight, PARTS[precision][0])
    given = given_to(held, inputs, precision)
    moment, tally = getattr(launches, way)(given, careful=False)
    wanted, _ = expected(held, exact)
    size = float(np.abs(wanted.mass).sum() * np.abs(rows).max())
    bound = ROUNDING[precision] * size
    np.testing.assert_allclose(moment.T[:20, :30].numpy(), wanted.moment, rtol=0, atol=bound)
    np.testing.assert_allclose(tally[0, :20].numpy(), wanted.mass[:, 0], rtol=0, atol=bound)


@pytest.mark.parametrize("way", [FUSED, STAGED])
def test_near_distances_keep_their_digits(way, monkeypatch):
    """Rows a millionth from their centroids: expanded squares have nothing left of that."""
    rng = np.random.default_rng(1)
    centers = split(torch.from_numpy(10 * rng.standard_normal((3, 9)).astype(np.float32)), 2, torch)
    centers = joined(centers, 9).double().numpy()
    rows = (centers[np.arange(60) % 3] + 1e-3 * rng.standard_normal((60, 9))).astype(np.float32)
    problem = Problem(Fuzzy(), (0, 9), np.ones(1), np.ones(1))
    pair = [prepare(Parameters(centers, np.ones(1)), -2.0, problem, np.dtype(t)) for t in (np.float32, np.float64)]
    held = held_as(rows, np.ones(60, dtype=np.float32), 2)
    monkeypatch.setattr(launches, "FUSED_NUMBERS", 2**12 if way == FUSED else 0)
    sums = launches.run(given_to(held, pair[0], "float32"))
    wanted, _ = expected(held, pair[1])
    assert held.careful
    np.testing.assert_allclose(float(sums.hard_cost), float(wanted.hard_cost), rtol=1e-4)


def test_rows_that_are_many_are_added_in_pieces(monkeypatch):
    """Several slots of one kernel, and several rounds of two, the last not full."""
    monkeypatch.setattr(launches, "ROWS_PER_SUM", 128)
    monkeypatch.setattr(launches, "PULLS_AT_ONCE", 256 * 16)
    rows, weight, (inputs, exact) = problem_of(3, 700, 5, 4, Fuzzy(), -3.0)
    held = held_as(rows, weight, 2)
    wanted, _ = expected(held, exact)
    for way in (launches._fused, launches._staged):
        moment, tally = way(given_to(held, inputs, "float32"), careful=False)
        np.testing.assert_allclose(moment.T[:4, :5].numpy(), wanted.moment, atol=ROUNDING["float32"] * 700 * 4)
        np.testing.assert_allclose(tally[3, :4].numpy(), wanted.sizes, rtol=700 * 2.0**-24)  # so many additions


def test_planes_hold_rows_to_their_rounding():
    rows = torch.from_numpy(np.random.default_rng(0).standard_normal((50, 13)).astype(np.float32) * 1e20)
    for parts, rounding in ((2, 2.0**-16), (1, 2.0**-8)):
        back = joined(split(rows, parts, torch), 13)
        assert float(((back - rows).abs() / rows.abs()).max()) <= rounding


def test_the_smallest_of_each_row():
    values = torch.rand((9, 70), dtype=torch.float64)
    values[3, :66] = torch.inf  # fewer that are finite than are asked for
    xp = __import__("array_api_compat.torch", fromlist=["torch"])
    found = smallest(values, 6, xp)
    np.testing.assert_array_equal(found, np.argsort(values.numpy(), axis=1, kind="stable")[:, :6])


def test_landmarks_found_on_a_card_are_those_found_here():
    rng = np.random.default_rng(0)
    one = np.ones(1)
    rows, landmarks = rng.standard_normal((40, 3)), rng.standard_normal((25, 3))
    wanted = neighbours(rows, Landmarks(landmarks, (0, 3), one, one, one), 4, np)
    found = CardSearch()(torch.from_numpy(rows), Landmarks(torch.from_numpy(landmarks), (0, 3), one, one, one), 4)
    np.testing.assert_array_equal(found.index, wanted.index)
    np.testing.assert_allclose(found.share, wanted.share, rtol=1e-9)
    assert CardSearch()(rows, Landmarks(landmarks, (0, 3), one, one, one), 4) is None


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_takes_the_kernels(monkeypatch):
    """As on a card, where features of one view are held as planes."""
    taken = []
    monkeypatch.setattr(executor, "available", lambda device: True)
    run = TritonPass.run
    monkeypatch.setattr(TritonPass, "run", lambda self, *given: taken.append(1) or run(self, *given))
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((60, 2)) + 8 * np.repeat(np.eye(2), 30, axis=0)).astype(np.float32)
    settings = {"n_clusters": 2, "feature_map": "identity", "random_state": 0, "max_iter": 3, "n_init": 1}
    there = KernelPowerKMeans(engine=TorchOptions("cpu"), **settings).fit(X)
    here = KernelPowerKMeans(**settings).fit(X)
    np.testing.assert_array_equal(there.labels_, here.labels_)
    np.testing.assert_allclose(there.inertia_, here.inertia_, rtol=1e-4)
    assert taken
