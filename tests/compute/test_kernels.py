"""The compiled kernels against NumPy: every sum, from features and raw rows, on every target that is built."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from helpers import blobs, make_engine, make_present, make_problem, make_views, quick
from powerkmeans.compute import passes
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.native.compiled import CompiledAnswer, CompiledPass, FastMap, FusedPass, RawInput
from powerkmeans.compute.native.library import TARGETS, open_library
from powerkmeans.compute.passes import available_passes, fastest
from powerkmeans.features.maps.centred import make_centred
from powerkmeans.features.maps.fourier import make_fourier
from powerkmeans.objective import block
from powerkmeans.objective.block import block_statistics, prepare
from powerkmeans.types import Parameters

BUILT = [target for target in TARGETS if open_library(target) is not None]
needs_library = pytest.mark.skipif(not BUILT, reason="powerkmeans was installed without a C++ compiler")
SUMS = ["mass", "moment", "scatter", "residual", "sizes", "loss", "hard_cost"]
TOLERANCE = {np.float32: 1e-5, np.float64: 1e-11}
# rows, clusters, widths: one row, tiles cut anywhere, groups of every size, several and missing views;
# and rows that are long enough to be multiplied as they lie in memory, in one chunk of columns and in more
SHAPES = [(1, 1, (1,)), (64, 3, (5,)), (65, 13, (17,)), (1000, 25, (216,)), (333, 7, (300, 33, 2))]
SHAPES += [(135, 10, (123,)), (9, 2, (27,))]


@pytest.fixture(params=BUILT or [pytest.param("none", marks=needs_library)])
def compiled(request):
    return CompiledPass(request.param)


def random_problem(shape, dtype, membership, missing, seed=0):
    n, k, widths = shape
    rng = np.random.default_rng(seed)
    views = [rng.normal(size=(n, p)).astype(dtype) for p in widths]
    present = make_present(n, len(widths), rng, 0.5) if missing and len(widths) > 1 else None
    problem = make_problem([rng.normal(size=(10, p)) for p in widths], *membership)
    centers = 0.5 * rng.normal(size=(k, sum(widths)))
    centers[0] = np.concatenate([view[0] for view in views])  # a sample that sits on a centroid
    alpha = rng.dirichlet(np.ones(len(widths))) if len(widths) > 1 else np.ones(1)
    weight = rng.integers(0, 3, n).astype(dtype)
    weight[0] = 1
    return views, weight, present, problem, Parameters(centers, alpha)


def assert_same(found, expected, dtype):
    for name in SUMS:
        a, b = np.asarray(getattr(found, name), float), np.asarray(getattr(expected, name), float)
        assert np.all(np.isfinite(a)), name
        assert np.max(np.abs(a - b)) <= TOLERANCE[dtype] * np.max(np.abs(b)), name


@pytest.mark.parametrize("s", [-0.3, -1.0, -3.0, -15.0, -math.inf])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("membership", [("fuzzy", 2.0), *(("possibilistic", m) for m in (1.6, 2.0, 4.0))])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_are_those_of_numpy(compiled, dtype, membership, missing, shape, s):
    views, weight, present, problem, parameters = random_problem(shape, dtype, membership, missing)
    engine = make_engine(views, weight, present=present)
    inputs = prepare(parameters, s, problem, np.dtype(dtype))
    assert_same(engine.fold(compiled.sums, inputs), engine.fold(block_statistics, inputs), dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_told_of_a_row_does_not_depend_on_the_rows_beside_it(compiled, dtype, shape):
    views, weight, _, problem, parameters = random_problem(shape, dtype, ("fuzzy", 2.0), False)
    inputs = prepare(parameters, -2.0, problem, np.dtype(dtype))
    answer = CompiledAnswer(compiled.target, block.block_distances)

    def distances(rows):
        engine = make_engine([view[rows] for view in views], weight[rows])
        return engine.map_rows(answer, inputs)

    together = distances(slice(None))
    for row in range(0, len(weight), 7):
        assert np.array_equal(distances(slice(row, row + 1))[0], together[row])


def undecided(views, parameters):
    """Samples whose two nearest centroids are as far to single precision, which k-means may give to either."""
    columns = np.sqrt(np.repeat(parameters.view_weights, [view.shape[1] for view in views]))
    rows = np.concatenate(views, axis=1).astype(float)
    nearest = np.sort(cdist(rows * columns, parameters.centers * columns, "sqeuclidean"), axis=1)
    rounding = rows.shape[1] * np.finfo(np.float32).eps * nearest[:, 1]  # of a sum of as many squares
    return nearest[:, 1] - nearest[:, 0] <= rounding


@pytest.mark.parametrize("s", [-0.3, -1.0, -1.5, -3.0, -15.0, -math.inf])
@pytest.mark.parametrize("shape", [(1000, 25, (216,)), (500, 100, (60,)), (333, 7, (300, 33, 2))], ids=str)
@pytest.mark.parametrize("membership", [("fuzzy", 2.0), *(("possibilistic", m) for m in (1.6, 2.0, 4.0))])
@pytest.mark.parametrize("name", ["numpy", *BUILT])
def test_sums_in_single_precision_are_those_in_double(name, membership, shape, s):
    statistics = block_statistics if name == "numpy" else CompiledPass(name).sums
    views, weight, _, problem, parameters = random_problem(shape, np.float32, membership, False)
    if s == -math.inf:
        weight[undecided(views, parameters)] = 0
    doubles = make_engine([view.astype(float) for view in views], weight.astype(float))
    expected = doubles.fold(block_statistics, prepare(parameters, s, problem, np.dtype(np.float64)))
    found = make_engine(views, weight).fold(statistics, prepare(parameters, s, problem, np.dtype(np.float32)))
    assert_same(found, expected, np.float32)


@pytest.mark.parametrize("name", ["numpy", *BUILT])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("s", [-1.0, -20.0, -math.inf])
def test_clusters_far_from_the_origin_keep_their_distances(name, dtype, s):
    statistics = block_statistics if name == "numpy" else CompiledPass(name).sums
    rng = np.random.default_rng(0)
    X = (1000 + rng.normal(size=(200, 5))).astype(dtype)
    centers = X[:4].astype(float) + 0.5
    problem = make_problem([X.astype(float)])
    longer = X.astype(np.longdouble)[:, None] - centers.astype(dtype).astype(np.longdouble)
    nearest = np.sum(np.min(np.sum(longer**2, axis=2), axis=1))
    inputs = prepare(Parameters(centers, np.ones(1)), s, problem, np.dtype(dtype))
    found = make_engine([X]).fold(statistics, inputs)
    assert float(found.hard_cost) == pytest.approx(float(nearest), rel=20 * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("k", [2, 3, 10, 25, 100, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_differences_are_taken_where_rounding_is_amplified(k, dtype):
    """The log derivative of the nearest centroid's pull, others at the squared norms, is what the rule bounds."""
    problem = make_problem([np.eye(3)])
    for s in (-0.2, -0.7, -1.0, -2.0, -5.0, -30.0):
        inputs = prepare(Parameters(np.zeros((k, 3)), np.ones(1)), s, problem, np.dtype(dtype))
        left = np.geomspace(inputs.resolution, 1, 200)
        amplified = (k - 1) * left**-s / (1 + (k - 1) * left**-s) / left
        assert np.max(amplified) <= block.LARGEST_AMPLIFICATION * (1 + 1e-12)
        assert inputs.resolution >= np.finfo(dtype).eps ** (1 / 3)


def test_the_precision_is_that_of_the_pass_not_of_the_weights(compiled):
    X, _ = blobs(3, spread=0.1)
    engine = make_engine([X], np.ones(len(X), dtype=np.float32))
    inputs = prepare(Parameters(X[::40], np.ones(1)), -2.0, make_problem([X]), np.dtype(np.float64))
    assert_same(engine.fold(compiled.sums, inputs), engine.fold(block_statistics, inputs), np.float64)


def fourier_maps(widths, dtype, seed=0, n_frequencies=9, bandwidth=1.0):
    rng = np.random.default_rng(seed)
    return tuple(
        make_centred(
            make_fourier(rng.normal(size=p), rng.normal(size=(p, n_frequencies)), bandwidth, dtype),
            0.01 * rng.normal(size=2 * n_frequencies),
            dtype,
        ).scaled(1.3)
        for p in widths
    )


@pytest.mark.parametrize("s", [-0.3, -3.0, -math.inf])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_from_raw_rows_are_those_of_their_features(compiled, dtype, membership, missing, shape, s):
    views, weight, present, _, parameters = random_problem(shape, dtype, (membership, 2.0), missing)
    maps = fourier_maps(shape[2], dtype)
    rng = np.random.default_rng(1)
    problem = make_problem([0.3 * rng.normal(size=(10, 18)) for _ in maps], membership)
    parameters = replace(parameters, centers=0.2 * rng.normal(size=(shape[1], 18 * len(maps))))
    inputs = prepare(parameters, s, problem, np.dtype(dtype))
    rows, fused = open_engine("auto", make_views(views, weight, present)), FusedPass(compiled.target)
    assert fused.takes(rows.with_features(maps, keep=False), inputs)
    found = rows.fold(fused.raw_sums, RawInput(inputs, maps))
    assert_same(found, rows.with_features(maps, keep=False).fold(block_statistics, inputs), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
def test_features_are_those_of_numpy_at_any_phase(compiled, dtype, size):
    (exact,) = fourier_maps((1,), dtype)
    X = np.linspace(-size, size, 1001, dtype=dtype)[:, None]
    fast = compiled.accelerated(exact)
    assert isinstance(fast, FastMap)
    assert fast.n_outputs == exact.n_outputs
    assert np.max(np.abs(fast(X, np) - exact(X, np))) < 4 * np.finfo(dtype).eps


@needs_library
def test_maps_that_the_library_cannot_take_are_left_alone():
    (exact,) = fourier_maps((3,), np.float32)
    X = np.random.default_rng(0).normal(size=(5, 3))
    inputs = prepare(Parameters(np.zeros((2, 18)), np.ones(1)), -2.0, make_problem([np.eye(18)]), X.dtype)
    chosen = available_passes("compiled", np)
    engine = open_engine("auto", make_views([X])).with_features((exact,), keep=False)
    assert not chosen[0].takes(engine, inputs)  # float64 rows, a float32 map
    assert np.array_equal(fastest(exact, chosen)(X, np), exact(X, np))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-12, 1e12])
@pytest.mark.parametrize("s", [-0.5, -50.0, -1e4])
def test_extreme_scales_and_exponents(compiled, dtype, scale, s):
    rng = np.random.default_rng(0)
    X = (scale * rng.normal(size=(500, 6))).astype(dtype)
    problem = make_problem([X.astype(float)], "possibilistic")
    inputs = prepare(Parameters(X[:5].astype(float), np.ones(1)), s, problem, np.dtype(dtype))
    engine = make_engine([X])
    found, expected = engine.fold(compiled.sums, inputs), engine.fold(block_statistics, inputs)
    for name in SUMS:
        a, b = (np.asarray(getattr(sums, name), float) for sums in (found, expected))
        # distances are rounded in another order, and s multiplies what that does to their logarithms
        tolerance = 100 * np.finfo(dtype).eps * max(1, abs(s), 1 / abs(s))
        assert np.max(np.abs(a - b)) <= tolerance * np.max(np.abs(b)), name


def test_rows_that_overflow_are_named(compiled):
    (exact,) = fourier_maps((2,), np.float32)
    X = np.ones((100, 2), dtype=np.float32)
    X[70] = 3e38
    problem = make_problem([np.eye(18)])
    inputs = prepare(Parameters(np.zeros((2, 18)), np.ones(1)), -2.0, problem, np.dtype(np.float32))
    rows = open_engine("auto", make_views([X]))
    with pytest.raises(ValueError, match=r"overflow float32 \(row 70\)"):
        rows.fold(FusedPass(compiled.target).raw_sums, RawInput(inputs, (exact,)))


@needs_library
@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
def test_fits_agree_with_those_of_numpy(membership):
    X, _ = blobs(4, size=100, spread=1.0)
    plain = quick(4, feature_map="nystroem", membership=membership, random_state=0)
    fits = [clone(plain).set_params(engine=engine).fit(X) for engine in ("numpy", "auto")]
    # clusters of one size are numbered by rounding, in which the maps differ
    assert adjusted_rand_score(fits[0].labels_, fits[1].labels_) == 1
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=1e-9)


def test_kernels_travel_between_processes(compiled):
    assert pickle.loads(pickle.dumps(compiled)) == compiled


def test_without_a_library_there_is_numpy(monkeypatch):
    monkeypatch.setattr(passes, "find_target", lambda: None)
    assert available_passes("auto", np) == ()
    with pytest.raises(ValueError, match=r"run `python -m powerkmeans.compute.native`"):
        available_passes("compiled", np)
    X, _ = blobs()
    with pytest.raises(ValueError, match="kernel='compiled' is not available"):
        quick(3, engine="compiled").fit(X)
    assert quick(3, random_state=0).fit(X).n_iter_ > 0


@pytest.mark.parametrize("name", ["numpy", *BUILT])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("s", [-1e-310, -1e-30, -1e-15, -1e-7, -1e-3])
def test_exponents_that_vanish_give_the_geometric_mean(name, dtype, s):
    statistics = block_statistics if name == "numpy" else CompiledPass(name).sums
    X, _ = blobs(3, spread=1.0)
    centers = X[5::40].astype(dtype).astype(float) + 1
    logarithms = np.log(np.sum((X.astype(dtype).astype(float)[:, None] - centers) ** 2, axis=2))
    inputs = prepare(Parameters(centers, np.ones(1)), s, make_problem([X]), np.dtype(dtype))
    loss = float(make_engine([X.astype(dtype)]).fold(statistics, inputs).loss)
    expected = float(np.sum(np.exp(np.mean(logarithms, axis=1))))
    # rounding of a distance, multiplied as the pass allows, and the first term of the series in s
    tolerance = 8 * block.LARGEST_AMPLIFICATION * np.finfo(dtype).eps + abs(s) * np.max(np.var(logarithms, axis=1))
    assert loss == pytest.approx(expected, rel=tolerance)


@pytest.mark.parametrize("name", ["numpy", *BUILT])
@pytest.mark.parametrize("s", [-0.9, -0.3, -0.1, -0.02])
def test_gentle_exponents_keep_all_digits(name, s):
    """One centroid near, 24 as far as leaves the mean of the powers at each of some values."""
    statistics = block_statistics if name == "numpy" else CompiledPass(name).sums
    k, X = 25, np.zeros((1, 25))
    for left in np.geomspace(1e-14, 0.5, 40):
        X[0, 0] = 1 - math.sqrt(left)
        inputs = prepare(Parameters(np.eye(k), np.ones(1)), s, make_problem([np.eye(k)]), np.dtype(np.float64))
        sums = make_engine([X]).fold(statistics, inputs)
        y = np.sum((X.astype(np.longdouble) - np.eye(k)) ** 2, axis=1)
        exact = np.exp(np.log(np.mean(y ** np.longdouble(s))) / np.longdouble(s))
        # each logarithm is rounded once, and the steepest of them is multiplied by s and divided by it
        assert float(sums.loss) == pytest.approx(float(exact), rel=200 * np.finfo(float).eps)


@pytest.mark.parametrize("name", ["numpy", *BUILT])
@pytest.mark.parametrize("s", [-1e-310, -1e-30, -1e38, -1e300])
def test_exponents_beyond_single_precision_are_limits(name, s):
    statistics = block_statistics if name == "numpy" else CompiledPass(name).sums
    X, _ = blobs(3, spread=1.0)
    inputs = prepare(Parameters(X[::40], np.ones(1)), s, make_problem([X]), np.dtype(np.float32))
    sums = make_engine([X.astype(np.float32)]).fold(statistics, inputs)
    assert all(np.all(np.isfinite(getattr(sums, name))) for name in SUMS)
    if s < -1:
        assert sums.loss == pytest.approx(sums.hard_cost, rel=1e-5)


def test_typicality_of_samples_near_a_centroid_keeps_its_digits():
    rng = np.random.default_rng(0)
    X = np.concatenate([c + 1e-3 * rng.normal(size=(50, 4)) for c in rng.normal(size=(3, 4))]).astype(np.float32)
    model = quick(3, feature_map="identity", membership="possibilistic", fuzziness=10.0, random_state=0).fit(X)
    ratio = np.min(model.transform(X), axis=1) ** 2 / model.reference_distance_
    assert np.allclose(model.typicality(X), 1 / (1 + ratio ** (1 / 9)), rtol=0.01)
