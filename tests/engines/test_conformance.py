"""One suite for every engine: the same answers, the same bits for any number of threads."""

from __future__ import annotations

import functools
import os
import threading
from importlib.util import find_spec

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from helpers import blobs, make_engine, make_present, make_problem, make_views
from oracle import power_mean, power_mean_gradient, squared_distance, typicality
from powerkmeans import KernelPowerKMeans
from powerkmeans.compute import blocks as blocks_module
from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.native.compiled import CompiledPass
from powerkmeans.compute.native.library import TARGETS, open_library
from powerkmeans.compute.options import ENGINES
from powerkmeans.engines import NumpyOptions, TorchOptions
from powerkmeans.features.maps.centred import make_centred
from powerkmeans.features.maps.exact import make_exact
from powerkmeans.features.maps.identity import IdentityMap
from powerkmeans.features.maps.nystroem import make_nystroem
from powerkmeans.objective.block import block_statistics, prepare
from powerkmeans.types import Parameters, array_namespace
from toy_engine import Strict, StrictOptions

KERNELS = ["numpy", *(target for target in TARGETS if open_library(target) is not None)]
OPTIONS = {
    "stored": NumpyOptions(n_threads=2),
    "recomputed": NumpyOptions(n_threads=2, memory_budget=0),
    "one thread": NumpyOptions(n_threads=1),
    "another library": StrictOptions(),
    "another library, recomputed": StrictOptions(memory_budget=0),
}
if find_spec("torch") is not None:
    OPTIONS |= {"torch": TorchOptions("cpu"), "torch, recomputed": TorchOptions("cpu", memory_budget=0)}
    OPTIONS |= {
        "torch twice": TorchOptions(["cpu"] * 2),
        "torch, recomputed by three": TorchOptions(["cpu"] * 3, memory_budget=0),
    }
# compiled passes take rows of NumPy alone
PAIRS = [(o, k) for o in OPTIONS for k in KERNELS if k == "numpy" or isinstance(OPTIONS[o], NumpyOptions)]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks_module, "BLOCK_BYTES", 2**12)


@pytest.fixture(autouse=True)
def another_engine(monkeypatch):
    monkeypatch.setitem(ENGINES, StrictOptions, Strict)


@pytest.fixture(params=OPTIONS)
def options(request, small_blocks):
    return OPTIONS[request.param]


def literal_statistics(views, weight, parameters, problem, s, present=None):
    """The sums of one pass, written out sample by sample."""
    parts = problem.view_slices
    k, m = len(parameters.centers), problem.membership.fuzziness
    alpha = parameters.view_weights
    present = np.ones((len(weight), len(views))) if present is None else present
    mass, moment = np.zeros((k, len(views))), np.zeros_like(parameters.centers)
    scatter, residual, loss, hard = np.zeros_like(mass), np.zeros_like(mass), 0.0, 0.0
    for i, v in enumerate(weight):
        d = [
            [
                squared_distance(view[i], parameters.centers[j, part])
                for view, part in zip(views, parts, strict=True)
            ]
            for j in range(k)
        ]
        q = len(views) * present[i] / sum(present[i])
        dbar = [sum(a * c * x for a, c, x in zip(alpha, q, d[j], strict=True)) for j in range(k)]
        eta = sum(a * c * e for a, c, e in zip(alpha, q, problem.reference_distance, strict=True))
        fuzzy = problem.membership.name == "fuzzy"
        u = [1.0 if fuzzy else typicality(x, eta, m) for x in dbar]
        dtil = [u[j] ** m * dbar[j] + (1 - u[j]) ** m * eta for j in range(k)]
        w = power_mean_gradient(dtil, s)
        loss += v * power_mean(dtil, s)
        hard += v * min(dbar)
        for j in range(k):
            g = v * w[j] * u[j] ** m
            mass[j] += g * q
            residual[j] += v * w[j] * (1 - u[j]) ** m * q
            scatter[j] += g * q * np.array(d[j])
            moment[j] += g * np.concatenate([c * view[i] for c, view in zip(q, views, strict=True)])
    return {
        "mass": mass,
        "moment": moment,
        "scatter": scatter,
        "residual": residual,
        "loss": loss,
        "hard_cost": hard,
    }


@functools.cache
def literal_case(membership, missing):
    """Views, weights, a mask, a problem with parameters, and the sums at s = -3."""
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(300, 3)), rng.normal(size=(300, 4))]
    weight = rng.uniform(0.5, 2, 300)
    problem = make_problem(views, *membership)
    parameters = Parameters(rng.normal(size=(4, 7)), np.array([0.4, 0.6]))
    present = make_present(300, 2, rng, missing) if missing else None
    expected = literal_statistics(views, weight, parameters, problem, -3.0, present)
    return views, weight, present, problem, parameters, expected


@pytest.mark.parametrize("membership", [("fuzzy", 2.0), ("possibilistic", 2.0), ("possibilistic", 1.6)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("missing", [0.0, 0.5])
@pytest.mark.parametrize(("engine_name", "code"), PAIRS)
def test_statistics_are_the_literal_sums(small_blocks, engine_name, code, membership, dtype, missing):
    options = OPTIONS[engine_name]
    kernel = block_statistics if code == "numpy" else CompiledPass(code).sums
    views, weight, present, problem, parameters, expected = literal_case(membership, missing)
    given = [v.astype(dtype) for v in views]
    engine = make_engine(given, weight.astype(dtype), options, keep=True, present=present)
    assert len(engine.raw_blocks) > 2
    found = engine.fold(kernel, prepare(parameters, -3.0, problem, np.dtype(dtype)))
    tolerance = 1e-5 if dtype == np.float32 else 1e-11
    for name, value in expected.items():
        result = getattr(found, name)
        assert np.asarray(result).dtype == np.float64
        assert np.max(np.abs(result - value)) <= tolerance * np.max(np.abs(value)), name


def row_numbers(block, inputs):
    xp = array_namespace(block.weight)
    first = xp.arange(block.start, block.start + block.weight.shape[0], device=block.weight.device)
    return xp.stack([first, first + inputs[0]], axis=1)


def test_rows_come_back_in_order_as_numpy_arrays(options):
    X = np.random.default_rng(0).normal(size=(500, 3))
    engine = make_engine([X], options=options)
    found = engine.map_rows(row_numbers, (np.asarray(1000),))
    assert type(found) is np.ndarray
    assert np.array_equal(found, np.arange(500)[:, None] + [0, 1000])
    parts = list(engine.map_blocks(row_numbers, (np.asarray(0),)))
    assert len(parts) == len(engine.raw_blocks) > 2
    assert np.array_equal(np.concatenate(parts), found - [0, 1000])


def test_rows_are_cut_shorter_for_much_work(options):
    X = np.random.default_rng(0).normal(size=(50, 3))
    engine = make_engine([X], options=options).cut(7)
    parts = list(engine.map_blocks(row_numbers, (np.asarray(0),)))
    assert np.array_equal(np.concatenate(parts)[:, 0], np.arange(50))
    assert engine.on_device or [len(part) for part in parts] == [7] * 7 + [1]


def test_samples_depend_on_content_alone(options):
    rng = np.random.default_rng(0)
    X, weight = np.round(rng.normal(size=(400, 2)), 1), rng.uniform(0, 1, 400)
    order = rng.permutation(400)
    samples = [
        open_engine(choice, make_views([rows], mass)).sample(50, seed=3)
        for choice, rows, mass in (("numpy", X, weight), (options, X, weight), (options, X[order], weight[order]))
    ]
    for other in samples[1:]:
        assert np.array_equal(other.views[0], samples[0].views[0])
        np.testing.assert_allclose(other.weight, samples[0].weight, rtol=1e-12)
        assert other.n_distinct == samples[0].n_distinct


def test_rows_that_overflow_are_named(options):
    X = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
    X[207] = 1e30
    with pytest.raises(ValueError, match=r"overflow float32 \(row 207\)"):
        make_engine([X], options=options).fold(block_statistics, None)


def test_an_error_in_a_block_ends_the_run(options):
    seen = []

    def fails(block, _):
        seen.append(block.start)
        if block.start >= 64:
            raise ZeroDivisionError
        return block.weight

    with pytest.raises(ZeroDivisionError):
        make_engine([np.ones((10_000, 2))], options=options).map_rows(fails, None)
    assert len(seen) < 20


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
@pytest.mark.parametrize("budget", [2**30, 0])
@pytest.mark.parametrize("engine", ["numpy", "auto"])
def test_same_bits_for_any_number_of_threads(small_blocks, dtype, membership, budget, engine):
    X, _ = blobs(size=100, spread=2.0)  # ten blocks of 32: more than four threads take at once, and a rest
    models = [
        KernelPowerKMeans(
            3,
            feature_map="nystroem",
            membership=membership,
            random_state=0,
            engine=NumpyOptions(n_threads=n, memory_budget=budget, kernel=engine),
            n_components=60,
            anneal_factor=1.4,
            max_iter=80,
            tol=1.0,
            n_init="auto" if budget else 1,  # features anew in every small block take their time
        ).fit(X.astype(dtype))
        for n in (1, 2, 4)
    ]
    first = models[0]
    for other in models[1:]:
        assert np.array_equal(first.cluster_centers_, other.cluster_centers_)
        assert np.array_equal(first.labels_, other.labels_)
        assert first.objective_ == other.objective_
        assert np.array_equal(first.history_["objective"], other.history_["objective"])
        assert np.array_equal(first.predict_proba(X), other.predict_proba(X))
    assert first.cluster_centers_.dtype == dtype


@pytest.mark.parametrize("engine", ["numpy", "auto"])
def test_stored_and_recomputed_features_agree(engine):
    X, _ = blobs(size=300, spread=2.0)
    stored, recomputed = (
        KernelPowerKMeans(
            3,
            feature_map="nystroem",
            random_state=0,
            engine=NumpyOptions(memory_budget=budget, kernel=engine),
        ).fit(X)
        for budget in (2**30, 0)
    )
    assert np.array_equal(stored.labels_, recomputed.labels_)
    assert recomputed.objective_ == pytest.approx(stored.objective_, rel=1e-10)


def blas_threads():
    return {lib["filepath"]: lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


def test_overlapping_fits_leave_limits_and_the_global_generator_alone():
    X, _ = blobs(size=200, spread=2.0)
    before, state = blas_threads(), np.random.get_state()[1].copy()  # noqa: NPY002
    errors = []

    def work(seed):
        try:
            for _ in range(3):
                for state in (seed, None):
                    KernelPowerKMeans(3, feature_map="nystroem", random_state=state, anneal_factor=1.3).fit(X)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert blas_threads() == before
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_nested_holds_restore_once():
    before = blas_threads()
    with single_threaded_blas() as outer:
        with single_threaded_blas() as inner:
            assert inner == outer
            assert set(blas_threads().values()) == {1}
        assert set(blas_threads().values()) == {1}
    assert blas_threads() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_forked_during_a_fit_is_not_held():
    before = blas_threads()
    with single_threaded_blas():
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, str(sorted(blas_threads().values())).encode())
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(read, 1000).decode() == str(sorted(before.values()))
    assert blas_threads() == before


def test_a_failing_block_restores_limits():
    before = blas_threads()

    def fails(block, parameters):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        make_engine([np.ones((50, 2))]).fold(fails, None)
    assert blas_threads() == before


def test_features_are_stored_within_the_budget_only():
    X = np.random.default_rng(0).normal(size=(100, 4))
    size = 100 * (4 * 8 + 8 + 16)  # features, a squared length and a label a row
    budget = 2 * size  # of which half is for the rest
    assert make_engine([X], options=NumpyOptions(memory_budget=budget)).stored
    assert not make_engine([X], options=NumpyOptions(memory_budget=budget - 1)).stored
    assert not make_engine([X], options=NumpyOptions(memory_budget=budget), keep=False).stored


def test_maps_for_outlier_scores_are_no_kernel_matrices():
    X = np.random.default_rng(0).normal(size=(300, 4))
    base = make_nystroem(np.zeros(4), X[:200], "rbf", 1.0)
    scored = make_centred(base, np.zeros(base.n_outputs), np.float64).with_missed()
    assert not scored.dual
    wide = 2**10 * blocks_module.BLOCK_BYTES // 2**20
    engine = open_engine(NumpyOptions(memory_budget=0), make_views([X]))
    assert not engine.with_features((scored,), keep=True).stored  # the budget holds for it
    rows = engine.with_features((scored,), keep=False, working=wide).raw_blocks.size
    assert rows < blocks_module.KERNEL_ROWS
    matrix = make_exact(np.zeros(4), X, np.full(300, 1 / 300), "rbf", 1.0)
    assert matrix.dual
    kept = engine.with_features((matrix,), keep=True, working=wide)
    assert kept.stored
    assert kept.raw_blocks.size == blocks_module.KERNEL_ROWS


def test_engines_of_one_another_share_threads_and_others_do_not():
    views, before = make_views([np.random.default_rng(0).normal(size=(40_000, 4))]), set(threading.enumerate())
    engine = open_engine(NumpyOptions(n_threads=2), views)
    mapped = engine.with_features((IdentityMap(4),), keep=True)
    assert mapped._executor is engine._executor
    assert open_engine(NumpyOptions(n_threads=2), views)._executor is not engine._executor
    workers = set(threading.enumerate()) - before
    assert all(thread.name.startswith("powerkmeans") for thread in workers)
    assert workers
    del engine, mapped
    for thread in workers:
        thread.join(timeout=10)
    assert not any(thread.is_alive() for thread in workers)


def test_unknown_engines_and_options_are_named():
    with pytest.raises(
        ValueError, match="engine='cuda' is not available; this version has 'auto', 'compiled', 'numpy'"
    ):
        KernelPowerKMeans(2, engine="cuda").fit(np.eye(4))
    with pytest.raises(ValueError, match=r"The 'n_threads' parameter must be None or an int >= 1\. Got 0"):
        NumpyOptions(n_threads=0)
    with pytest.raises(
        ValueError, match=r"The 'memory_budget' parameter must be an int in the range \[0, inf\). Got -1"
    ):
        NumpyOptions(memory_budget=-1)
    with pytest.raises(ValueError, match="The 'kernel' parameter must be one of 'auto', 'numpy', 'compiled'"):
        NumpyOptions(kernel="cuda")
    assert open_engine("numpy", make_views([np.eye(2)])).n_samples == 2


def test_blocks_shrink_with_the_number_of_clusters():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    rows = open_engine("numpy", make_views([X]))
    few, many = (rows.with_features((IdentityMap(2),), keep=False, working=4 * k) for k in (3, 1000))
    assert few.raw_blocks.size == blocks_module.LARGEST_BLOCK
    assert many.raw_blocks.size * 4000 * 8 <= blocks_module.BLOCK_BYTES
