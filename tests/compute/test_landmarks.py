"""The compiled map by a Gaussian kernel's landmarks against the equations as written, on every target."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.native.arguments import LandmarkCall
from powerkmeans.compute.native.compiled import CompiledLandmarks
from powerkmeans.compute.native.library import TARGETS, open_library
from powerkmeans.compute.passes import fastest
from powerkmeans.engines import NumpyOptions
from powerkmeans.features.maps.centred import make_centred
from powerkmeans.features.maps.nystroem import NystroemMap, make_nystroem
from powerkmeans.types import Views

BUILT = [target for target in TARGETS if open_library(target) is not None]
needs_library = pytest.mark.skipif(not BUILT, reason="powerkmeans was installed without a C++ compiler")


@pytest.fixture(params=BUILT or [pytest.param("none", marks=needs_library)])
def code(request):
    return CompiledLandmarks(request.param)


def tolerance(base, rows):
    """How far two ways to compute the same features may be apart, each rounding every operation.

    An exponent is a sum of d + 2 terms that are no larger than the squared lengths, so it is wrong by so many
    roundings of these, and a kernel value, at most 1, by as much and a few roundings of its own; a feature is a
    sum of m of them. Times what features can be at most, and two for both ways (a rounding is half of eps): about
    1e-12 of that where rows are a few bandwidths long.
    """
    scaled = [part / base.bandwidth for part in (rows.astype(np.float64) - base.origin, base.landmarks)]
    lengths = sum(np.max(np.vecdot(part, part)) for part in scaled)
    n_roundings = (base.landmarks.shape[1] + 4) * lengths + base.n_components + 8
    return np.finfo(np.float64).eps * n_roundings * base.largest_output


def assert_same(base, rows, code):
    fast, allowed = replace(base, code=code), tolerance(base, rows)
    expected = base(rows, np)
    np.testing.assert_allclose(fast(rows, np), expected, rtol=0, atol=allowed)
    mean = np.mean(expected, axis=0)
    features = fast.less(mean, rows, np.float32, np)
    assert features.dtype == np.float32
    rounding = np.finfo(np.float32).eps * (np.max(np.abs(expected)) + np.max(np.abs(mean)))
    np.testing.assert_allclose(features, expected - mean, rtol=0, atol=allowed + rounding)


def some_map(n_landmarks=40, n_columns=3, scale=1.0, seed=1):
    rng = np.random.default_rng(seed)
    origin = scale * rng.normal(size=n_columns)
    return make_nystroem(origin, scale * rng.normal(size=(n_landmarks, n_columns)), "rbf", scale * n_columns**0.5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(30))
def test_random_shapes(code, seed, dtype):
    rng = np.random.default_rng(seed)
    n_columns = int(rng.integers(1, [3, 20, 200][seed % 3]))
    base = some_map(int(rng.integers(1, [10, 70, 400][seed % 3])), n_columns, seed=seed)
    rows = 2 * rng.normal(size=(int(rng.integers(1, 300)), n_columns)).astype(dtype)
    assert tolerance(base, rows) < 3e-12 * base.largest_output
    assert_same(base, rows, code)


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_landmarks"), [(1, 1, 1), (1, 3, 70), (100, 65, 1), (49, 64, 64)]
)
def test_edges_of_tiles(code, n_rows, n_columns, n_landmarks):
    rows = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    assert_same(some_map(n_landmarks, n_columns), rows, code)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e12, 1e30])
def test_any_scale(code, scale, dtype):
    rows = (scale * np.random.default_rng(0).normal(size=(200, 3))).astype(dtype)
    assert_same(some_map(scale=scale), rows, code)


@pytest.mark.parametrize("n_outputs", [1, 7, 30])
def test_fewer_outputs_than_landmarks(code, n_outputs):
    base = some_map()
    assert_same(replace(base, normalization=base.normalization[:, -n_outputs:]), np.ones((5, 3)), code)


def test_values_at_landmarks(code):
    """A kernel is 1 there and no more, whatever the rounding of a row far from the origin makes of no distance."""
    base = some_map(100, 5)
    far = replace(base, landmarks=base.landmarks + 1e6, origin=np.zeros(5), normalization=np.eye(100))
    values = replace(far, code=code)(far.landmarks, np)
    assert np.all(values <= 1)
    np.testing.assert_allclose(np.diagonal(values), 1, atol=1e-2)


@pytest.mark.parametrize("distance", [30, 1e3, 1e100])
def test_far_rows(code, distance):
    """All kernels are zero, or so small that it does not matter."""
    base = some_map()
    fast = replace(base, code=code)
    np.testing.assert_allclose(fast(base.origin + distance * np.eye(3), np), 0, atol=1e-12)
    assert np.all(np.isfinite(fast(np.full((1, 3), distance), np)))


@pytest.mark.parametrize("value", [1e200, np.inf, np.nan])
def test_rows_out_of_range_go_to_the_equations(code, value):
    base, rows = some_map(), np.random.default_rng(0).normal(size=(100, 3))
    rows[70, 1] = value
    mean = np.zeros(base.n_outputs)
    fast = replace(base, code=code)
    assert code(base, rows, mean, np.float64) is None
    assert code(base, rows[:70], mean, np.float64) is not None
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(fast(rows, np), base(rows, np))
        np.testing.assert_array_equal(fast.less(mean, rows, np.float32, np), base.less(mean, rows, np.float32, np))


def test_landmarks_out_of_range_go_to_the_equations(code):
    base = replace(some_map(), landmarks=np.full((40, 3), 1e160))
    assert code(base, np.ones((2, 3)), np.zeros(base.n_outputs), np.float64) is None


@pytest.mark.parametrize("size", [1, 13, 48, 100])
def test_blocks_do_not_matter(code, size):
    rows = np.random.default_rng(0).normal(size=(130, 7))
    fast = replace(some_map(100, 7), code=code)
    parts = [fast(rows[start : start + size], np) for start in range(0, 130, size)]
    np.testing.assert_array_equal(np.concatenate(parts), fast(rows, np))


def test_rows_of_any_form(code):
    """Columns first, every other row, whole numbers, bytes in the other order; sparse ones go to the equations."""
    rows = np.random.default_rng(0).integers(-3, 4, size=(60, 3)).astype(float)
    base = some_map()
    fast = replace(base, code=code)
    expected = fast(rows, np)
    forms = (np.asfortranarray(rows), np.repeat(rows, 2, axis=0)[::2], rows.astype(np.int64), rows.astype(">f4"))
    for form in forms:
        np.testing.assert_array_equal(fast(form, np), expected)
    np.testing.assert_array_equal(fast(csr_array(rows), np), base(csr_array(rows), np))
    with pytest.raises(ValueError, match="2 columns, but the map was made for 3"):
        fast(rows[:, :2], np)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"rows": np.ones((5, 4))}, "rows of shape"),
        ({"rows": np.ones((5, 3), dtype=complex)}, "rows as float64"),
        ({"mean": np.ones(3)}, "the map's mean of shape"),
        ({"dtype": np.float16}, "float32 or float64"),
        ({"origin": np.ones(2)}, "the map's origin of shape"),
        ({"landmarks": np.ones((39, 3))}, "normalization of shape"),
        ({"landmarks": np.ones(3)}, "landmarks of two dimensions"),
        ({"normalization": np.ones(40)}, "normalization of two dimensions"),
        ({"bandwidth": 0.0}, "a bandwidth above 0"),
    ],
)
def test_what_does_not_fit_is_refused(change, match):
    base = some_map()
    given = {"rows": np.ones((5, 3)), "mean": np.zeros(base.n_outputs), "dtype": np.float64}
    fields = {name: value for name, value in change.items() if name not in given}
    given |= {name: value for name, value in change.items() if name in given}
    with pytest.raises(ValueError, match=match):
        LandmarkCall(replace(base, **fields), **given)


@needs_library
def test_fits_and_answers_use_it(monkeypatch):
    """Fits and all answers are the same with and without, and with it no row goes to the equations."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(150, 3)) + 6 * np.eye(3)[j] for j in range(3)])
    views = {"one": rows, "other": rng.normal(size=(450, 2)) + rows[:, :2]}
    settings = {"feature_map": "nystroem", "n_components": 40, "random_state": 0, "advice": False}
    settings |= {"membership": "auto"}
    for estimator, X in ((KernelPowerKMeans, rows), (MultiViewPowerKMeans, views)):
        plain = estimator(3, engine="numpy", **settings).fit(X)
        with monkeypatch.context() as patched:
            patched.setattr(NystroemMap, "_as_written", None)
            fast = estimator(3, **settings).fit(X)
            answers = fast.predict(X), fast.transform(X), fast.outlier_score(X)
        assert adjusted_rand_score(fast.labels_, plain.labels_) == 1  # the numbers of clusters go by rounding
        assert adjusted_rand_score(answers[0], plain.labels_) == 1
        np.testing.assert_allclose(np.sort(answers[1]), np.sort(plain.transform(X)), atol=1e-6)
        np.testing.assert_allclose(answers[2], plain.outlier_score(X), rtol=1e-6)


@needs_library
def test_maps_carry_it_between_processes():
    base, rows = some_map(), np.random.default_rng(0).normal(size=(60, 3))
    passes = open_engine(NumpyOptions(), Views(("X",), (rows,), np.ones(60))).passes
    feature_map = make_centred(base, np.ones(base.n_outputs), np.float64)
    for one in (feature_map, feature_map.with_missed()):
        fast = fastest(one, passes)
        assert type(fast) is type(one)
        assert fast.base.code == CompiledLandmarks(passes[-1].target)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(fast))(rows, np), fast(rows, np))
        np.testing.assert_allclose(fast(rows, np), one(rows, np), atol=1e-6)  # a root of what is missed
    other = replace(feature_map, base=replace(base, kernel="laplacian"))
    assert fastest(other, passes) is other
    assert fastest(feature_map, ()).base.code is None


@needs_library
@pytest.mark.parametrize("n_threads", [2, 4])
def test_threads_do_not_matter(n_threads):
    rows = np.random.default_rng(0).normal(size=(9000, 3)).astype(np.float32)
    base = some_map()
    views = Views(("X",), (rows,), np.ones(len(rows), dtype=np.float32))
    feature_map = make_centred(base, np.zeros(base.n_outputs), np.float32)

    def features(n):
        engine = open_engine(NumpyOptions(n_threads=n), views).with_features(
            (feature_map,), keep=False, working=10**4
        )
        return engine.map_rows(lambda block, _: block.views[0], None)

    np.testing.assert_array_equal(features(n_threads), features(1))
