"""Each kernel against the equations as written, in float64, on the very numbers that its planes hold."""

import itertools
import math

import numpy as np
import pytest
import torch

from powerkmeans import KernelPowerKMeans
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.executors import torch as executor
from powerkmeans.compute.passes import choose_pass
from powerkmeans.compute.triton import given, launches
from powerkmeans.compute.triton.passes import RawPass, TritonPass
from powerkmeans.compute.triton.planes import STORAGE, PlaneBlocks, joined, split
from powerkmeans.compute.triton.search import CardSearch, smallest
from powerkmeans.engines import TorchOptions
from powerkmeans.features.graph.distances import Landmarks
from powerkmeans.features.graph.neighbours import neighbours
from powerkmeans.features.maps.centred import make_centred
from powerkmeans.features.maps.fourier import FourierMap
from powerkmeans.objective.block import block_statistics, prepare
from powerkmeans.objective.membership import Fuzzy, Possibilistic
from powerkmeans.sources.tensors import TensorSource
from powerkmeans.types import Block, Parameters, Problem, Views

# clusters that pad a tile are infinitely far; what comes of that is thrown away
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

# a product of numbers in two parts is off by their rounding, 2^-16 for each where these are cut off as here, and
# by what the product of the lower parts is; pulls and centroids in one part are off by 2^-11 or 2^-8, and a change
# of a centroid comes back in each distance and, times 1 - s, in each pull
ROUNDING = {"float32": 4 * 2.0**-16, "tf32": 8 * 2.0**-11, "bfloat16": 8 * 2.0**-8}
BY_ROWS, BY_CLUSTERS, STAGED = "_by_rows", "_by_clusters", "_staged"
WAYS = {BY_ROWS: {}, BY_CLUSTERS: {"FUSED_NUMBERS": 0}, STAGED: {"FUSED_COLUMNS": 0}}


def problem_of(seed, n, widths, k, membership, s):
    rng = np.random.default_rng(seed)
    p, views = sum(widths), len(widths)
    rows = rng.standard_normal((n, p)).astype(np.float32)
    centers, weight = rng.standard_normal((k, p)), rng.uniform(0.5, 1.5, n).astype(np.float32)
    shares = rng.dirichlet(np.ones(views)) if views > 1 else np.ones(1)
    splits = tuple(np.cumsum([0, *widths]).tolist())
    problem = Problem(membership, splits, np.array(widths, dtype=float), np.ones(views))
    inputs = [prepare(Parameters(centers, shares), s, problem, np.dtype(t)) for t in (np.float32, np.float64)]
    return rows, weight, inputs


def held_as(rows, weight, precision, widths=None, present=None, size=100):
    splits = np.cumsum([0, *(widths or [rows.shape[1]])])
    views = [torch.from_numpy(np.ascontiguousarray(rows[:, a:b])) for a, b in itertools.pairwise(splits)]
    weight = torch.from_numpy(weight)

    def block(i):
        here = slice(i, i + size)
        mask = None if present is None else torch.from_numpy(present[:, here])
        parts = tuple(v[here] if mask is None else v[here] * mask[i][:, None] for i, v in enumerate(views))
        return Block(i, parts, (), weight[here], mask)

    return PlaneBlocks(map(block, range(0, len(rows), size)), len(rows), STORAGE[precision], torch)


def expected(held, exact):
    """The sums, by the equations, of what is held."""
    blocks = list(held.read())
    numbers = range(len(held.widths))
    views = [np.concatenate([block.views[i].double().numpy() for block in blocks]) for i in numbers]
    present = None if held.covers is None else np.concatenate([b.present.numpy() for b in blocks], axis=1)
    norms = tuple(np.vecdot(view, view) for view in views)
    block = Block(0, tuple(views), norms, held.weight.double().numpy(), present)
    return block_statistics(block, exact), np.concatenate(views, axis=1)


def check(sums, wanted, rows, precision):
    size = float(np.sum(np.abs(wanted.mass)) * np.max(np.abs(rows)) + 1)
    for name in ("mass", "moment", "scatter", "residual", "sizes", "loss", "hard_cost"):
        found, truth = np.asarray(getattr(sums, name)), np.asarray(getattr(wanted, name))
        bound = ROUNDING[precision] * max(size, float(np.max(np.abs(truth))))
        np.testing.assert_allclose(found, truth, rtol=0, atol=bound, err_msg=name)


def passed(held, inputs):
    return launches.run(given.Given(inputs, held))


@pytest.mark.parametrize(
    ("n", "p", "k"), [(1, 1, 1), (130, 20, 17), (77, 40, 5), (40, 257, 3)], ids=["one", "k17", "few", "p257"]
)
@pytest.mark.parametrize("membership", [Fuzzy(), Possibilistic(), Possibilistic(1.7)], ids=["fuzzy", "m2", "m1.7"])
@pytest.mark.parametrize("s", [-math.inf, -40.0, -5.0, -0.3])
def test_sums_are_those_of_the_equations(n, p, k, membership, s):
    rows, weight, (inputs, exact) = problem_of(n + k, n, [p], k, membership, s)
    held = held_as(rows, weight, "float32")
    check(passed(held, inputs), *expected(held, exact), "float32")


@pytest.mark.parametrize("precision", list(STORAGE))
@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("membership", [Fuzzy(), Possibilistic()], ids=["fuzzy", "possibilistic"])
def test_every_way_gives_the_sums_in_every_precision(precision, way, membership, monkeypatch):
    for name, value in WAYS[way].items():
        monkeypatch.setattr(launches, name, value)
    taken = []
    kernel = getattr(launches, way)
    monkeypatch.setattr(launches, way, lambda *known: taken.append(way) or kernel(*known))
    rows, weight, (inputs, exact) = problem_of(0, 90, [30], 20, membership, -4.0)
    held = held_as(rows, weight, precision)
    check(passed(held, inputs), *expected(held, exact), precision)
    assert taken


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("membership", [Fuzzy(), Possibilistic()], ids=["fuzzy", "possibilistic"])
@pytest.mark.parametrize("s", [-math.inf, -4.0, -0.3])
def test_a_row_and_a_centroid_at_the_origin(way, membership, s, monkeypatch):
    """Their distance is zero, and no share of the row's length tells that."""
    for name, value in WAYS[way].items():
        monkeypatch.setattr(launches, name, value)
    rows, weight, _ = problem_of(3, 80, [12], 4, membership, s)
    rows[::7] = 0
    centers = np.concatenate([np.zeros((1, 12)), rows[1:4]]) * 1.5
    problem = Problem(membership, (0, 12), np.array([12.0]), np.ones(1))
    inputs, exact = (
        prepare(Parameters(centers, np.ones(1)), s, problem, np.dtype(t)) for t in (np.float32, np.float64)
    )
    held = held_as(rows, weight, "float32")
    check(passed(held, inputs), *expected(held, exact), "float32")


@pytest.mark.parametrize("precision", list(STORAGE))
@pytest.mark.parametrize("membership", [Fuzzy(), Possibilistic()], ids=["fuzzy", "possibilistic"])
@pytest.mark.parametrize("missing", [False, True], ids=["whole", "missing"])
def test_several_views_give_the_sums(precision, membership, missing):
    """Views that end within a tile and within eight columns, and rows that have one view, two or all."""
    widths, n = [13, 70, 3], 150
    rows, weight, (inputs, exact) = problem_of(5, n, widths, 7, membership, -3.0)
    present = np.random.default_rng(2).random((3, n)) < 0.6
    present[1] |= ~present.any(axis=0)
    held = held_as(rows, weight, precision, widths, present if missing else None)
    check(passed(held, inputs), *expected(held, exact), precision)


def test_rows_that_lack_views_pull_within_the_range_of_half_precision():
    """One view of four is there, so a pull counts four times: with the largest as close to the end of the range as
    they are put, that would be infinite."""
    widths, n = [3, 2, 2, 2], 70
    rows, weight, (inputs, exact) = problem_of(6, n, widths, 3, Fuzzy(), -math.inf)
    present = np.zeros((4, n), dtype=bool)
    present[0] = True
    held = held_as(rows, np.ones_like(weight), "tf32", widths, present)
    assert given.within_range(held, inputs)
    check(passed(held, inputs), *expected(held, exact), "tf32")


@pytest.mark.parametrize(
    ("way", "widths"), [*((way, [9]) for way in WAYS), (STAGED, [4, 5])], ids=[*WAYS, "views"]
)
def test_near_distances_keep_their_digits(way, widths, monkeypatch):
    """Rows a millionth from their centroids: expanded squares have nothing left of that."""
    rng = np.random.default_rng(1)
    centers = split(
        torch.from_numpy(10 * rng.standard_normal((3, 9)).astype(np.float32)), STORAGE["float32"], torch
    )
    centers = joined(centers, 9).double().numpy()
    rows = (centers[np.arange(60) % 3] + 1e-3 * rng.standard_normal((60, 9))).astype(np.float32)
    shares = np.ones(len(widths)) / len(widths)
    splits = tuple(np.cumsum([0, *widths]).tolist())
    problem = Problem(Fuzzy(), splits, np.ones(len(widths)), np.ones(len(widths)))
    pair = [prepare(Parameters(centers, shares), -2.0, problem, np.dtype(t)) for t in (np.float32, np.float64)]
    held = held_as(rows, np.ones(60, dtype=np.float32), "float32", widths)
    for name, value in WAYS[way].items():
        monkeypatch.setattr(launches, name, value)
    sums = passed(held, pair[0])
    wanted, _ = expected(held, pair[1])
    assert held.careful
    np.testing.assert_allclose(float(sums.hard_cost), float(wanted.hard_cost), rtol=1e-4)
    np.testing.assert_allclose(np.asarray(sums.scatter), wanted.scatter, rtol=1e-3)


@pytest.mark.parametrize("way", list(WAYS))
def test_rows_that_are_many_are_added_in_pieces(way, monkeypatch):
    """Several slots of one kernel, and several rounds of two, the last not full."""
    monkeypatch.setattr(given, "ROWS_PER_SUM", {1: 128, 2: 128})
    monkeypatch.setattr(launches, "PULLS_AT_ONCE", 256 * 16)
    for name, value in WAYS[way].items():
        monkeypatch.setattr(launches, name, value)
    rows, weight, (inputs, exact) = problem_of(3, 700, [5], 4, Fuzzy(), -3.0)
    held = held_as(rows, weight, "float32")
    wanted, _ = expected(held, exact)
    sums = passed(held, inputs)
    np.testing.assert_allclose(np.asarray(sums.moment), wanted.moment, atol=ROUNDING["float32"] * 700 * 4)
    np.testing.assert_allclose(np.asarray(sums.sizes), wanted.sizes, rtol=700 * 2.0**-24)  # so many additions


def test_planes_hold_rows_to_their_rounding():
    rows = torch.from_numpy(np.random.default_rng(0).standard_normal((50, 13)).astype(np.float32) * 1e20)
    for precision, rounding in (("float32", 2.0**-16), ("bfloat16", 2.0**-8)):
        back = joined(split(rows, STORAGE[precision], torch), 13)
        assert float(((back - rows).abs() / rows.abs()).max()) <= rounding


@pytest.mark.parametrize("sizes", [(1e20, 1e-3), (1e-20, 1e3), (0.0, 1.0)], ids=["falls", "grows", "from zero"])
def test_half_precision_is_scaled_to_its_range(sizes):
    """Blocks of different size: what was held before is scaled with what comes."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(0.5, 1, (200, 6)).astype(np.float32) * np.repeat(sizes, 100)[:, None].astype(np.float32)
    held = held_as(rows, np.ones(200, dtype=np.float32), "tf32")
    back = np.concatenate([block.views[0].numpy() for block in held.read()])
    np.testing.assert_allclose(back, rows, rtol=2.0**-11, atol=2.0**-24 * max(sizes))
    norms = np.concatenate([block.squared_norms[0].numpy() for block in held.read()])
    np.testing.assert_allclose(norms, np.vecdot(back, back), rtol=1e-3, atol=2.0**-24 * max(sizes) ** 2)


def test_pulls_beyond_the_range_of_half_precision_are_not_taken():
    rows, weight, (gentle, _) = problem_of(0, 50, [4], 100, Fuzzy(), -0.3)
    rows, weight, (steep, _) = problem_of(0, 50, [4], 100, Fuzzy(), -3.0)
    held = held_as(rows, weight, "tf32")
    assert not given.within_range(held, gentle)
    assert given.within_range(held, steep)
    assert given.within_range(held_as(rows, weight, "float32"), gentle)


def fourier_problem(n, d, waves, k, membership, s, share=0.5):
    """Rows off the origin, a centred Fourier map of them, and centroids on the way to features of some."""
    rng = np.random.default_rng(d + waves)
    rows = (3 + rng.standard_normal((n, d))).astype(np.float32)
    base = FourierMap(
        np.full(d, 3, np.float32), (rng.standard_normal((d, waves)) / math.sqrt(d)).astype(np.float32)
    )
    features = base(rows.astype(np.float64), np)
    mapped = make_centred(base, features.mean(axis=0), np.float32).scaled(1.5)
    centers = mapped.centred(features[:k] * share)
    problem = Problem(membership, (0, 2 * waves), np.ones(1), np.ones(1))
    pair = [prepare(Parameters(centers, np.ones(1)), s, problem, np.dtype(t)) for t in (np.float32, np.float64)]
    return rows, mapped, pair


@pytest.mark.parametrize("precision", list(STORAGE))
@pytest.mark.parametrize("membership", [Fuzzy(), Possibilistic()], ids=["fuzzy", "possibilistic"])
def test_fourier_features_are_made_inside_a_pass(precision, membership, monkeypatch):
    monkeypatch.setattr(executor, "available", lambda device: True)
    rows, mapped, (inputs, exact) = fourier_problem(150, 12, 20, 5, membership, -3.0)
    weight = np.random.default_rng(0).uniform(0.5, 1.5, 150).astype(np.float32)
    views = Views(("X",), (TensorSource("X", torch.from_numpy(rows)),), weight)
    options = TorchOptions("cpu", precision, memory_budget=0)
    engine = open_engine(options, views).with_features((mapped,), keep=True)
    chosen = choose_pass(engine, inputs)
    assert isinstance(chosen, RawPass)
    features = (mapped.base(rows.astype(np.float64), np) - mapped.mean) * mapped.scale
    block = Block(0, (features,), (np.vecdot(features, features),), weight.astype(np.float64))
    check(chosen.run(engine, inputs), block_statistics(block, exact), features, precision)


def test_rows_on_their_centroids_are_passed_by_the_equations(monkeypatch):
    monkeypatch.setattr(executor, "available", lambda device: True)
    rows, mapped, (inputs, exact) = fourier_problem(60, 4, 8, 2, Fuzzy(), -3.0, share=1.0)
    views = Views(("X",), (TensorSource("X", torch.from_numpy(rows)),), np.ones(60, np.float32))
    engine = open_engine(TorchOptions("cpu", memory_budget=0), views).with_features((mapped,), keep=True)
    features = (mapped.base(rows.astype(np.float64), np) - mapped.mean) * mapped.scale
    block = Block(0, (features,), (np.vecdot(features, features),), np.ones(60))
    sums, wanted = choose_pass(engine, inputs).run(engine, inputs), block_statistics(block, exact)
    np.testing.assert_allclose(np.asarray(sums.hard_cost), np.asarray(wanted.hard_cost), rtol=1e-3)
    assert choose_pass(engine, inputs).run(engine, inputs).hard_cost == sums.hard_cost  # whatever came before


@pytest.mark.parametrize("width", [6, 7, 70, 129])
def test_the_smallest_of_each_row(width):
    values = torch.randn((9, width), dtype=torch.float64)
    values[3, :-4] = torch.inf  # fewer that are finite than are asked for
    values[4], values[5] = 1.0, -2.0
    values[6:] = torch.round(values[6:])  # of many that are equal the first are the smallest
    xp = __import__("array_api_compat.torch", fromlist=["torch"])
    for held in (values, values.float()):
        found = smallest(held, 6, xp)
        np.testing.assert_array_equal(found, np.argsort(held.numpy(), axis=1, kind="stable")[:, :6])


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
    monkeypatch.setattr(TritonPass, "run", lambda self, *known: taken.append(1) or run(self, *known))
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((60, 2)) + 8 * np.repeat(np.eye(2), 30, axis=0)).astype(np.float32)
    settings = {"n_clusters": 2, "feature_map": "identity", "random_state": 0, "max_iter": 3, "n_init": 1}
    there = KernelPowerKMeans(engine=TorchOptions("cpu"), **settings).fit(X)
    here = KernelPowerKMeans(**settings).fit(X)
    np.testing.assert_array_equal(there.labels_, here.labels_)
    np.testing.assert_allclose(there.inertia_, here.inertia_, rtol=1e-4)
    assert taken
