"""The compiled search for nearest landmarks against the equations as written, on every target that is built."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.native.arguments import SearchCall
from powerkmeans.compute.native.compiled import CompiledPass, CompiledSearch
from powerkmeans.compute.native.library import TARGETS, open_library
from powerkmeans.compute.passes import fastest, search_of
from powerkmeans.engines import NumpyOptions
from powerkmeans.features.graph.build import even_landmarks
from powerkmeans.features.graph.neighbours import neighbours
from powerkmeans.features.maps.graph import embedded
from powerkmeans.types import Views

BUILT = [target for target in TARGETS if open_library(target) is not None]
needs_library = pytest.mark.skipif(not BUILT, reason="powerkmeans was installed without a C++ compiler")
# shares are differences of distances over their sum: roundings of the distances, times how near two of them may be
TOLERANCE = 1e-9


@pytest.fixture(params=BUILT or [pytest.param("none", marks=needs_library)])
def search(request):
    return CompiledSearch(request.param)


def placed(rng, n, widths, missing=False):
    """Random rows of some views, with the marks that tell which they have if there are several."""
    rows = rng.normal(size=(n, sum(widths)))
    if len(widths) == 1:
        return rows, (0, *widths)
    marks = rng.random((n, len(widths))) < (0.6 if missing else 2)
    marks[np.arange(n), rng.integers(len(widths), size=n)] = True
    return np.concatenate([rows * np.repeat(marks, widths, axis=1), marks], axis=1), (
        0,
        *np.cumsum(widths).tolist(),
    )


def shares(found, landmarks):
    """The share of each landmark, (b, m): neighbours that are equally far may come in any order."""
    result = np.zeros((len(found.index), len(landmarks.rows)))
    np.put_along_axis(result, found.index, found.share, axis=1)
    return result


def assert_same(rows, landmarks, count, search):
    expected = neighbours(rows, landmarks, count, np)
    found = search(rows, landmarks, count)
    np.testing.assert_allclose(shares(found, landmarks), shares(expected, landmarks), rtol=0, atol=TOLERANCE)
    assert np.all(np.diff(np.sort(found.index, axis=1), axis=1) > 0)
    np.testing.assert_array_equal(found.itself, expected.itself)
    np.testing.assert_allclose(found.reach, expected.reach, rtol=TOLERANCE)
    loading = np.random.default_rng(1).normal(size=(len(landmarks.rows), 3)) + 2  # none of a length near zero
    features = search.embedded(rows, landmarks, count, loading)
    np.testing.assert_allclose(features, embedded(expected, loading, np), rtol=0, atol=10 * TOLERANCE)


@pytest.mark.parametrize("seed", range(40))
def test_random_shapes(search, seed):
    rng = np.random.default_rng(seed)
    widths = rng.integers(1, [3, 20, 200][seed % 3], size=[1, 1, 2, 5][seed % 4]).tolist()
    rows, offsets = placed(rng, int(rng.integers(1, 300)), widths, missing=seed % 8 > 3)
    others, _ = placed(rng, int(rng.integers(2, 700)), widths, missing=seed % 8 > 3)
    pool = np.concatenate([rows, others])  # some rows are landmarks
    landmarks = even_landmarks(pool[-max(2, len(pool) * 2 // 3) :], offsets)
    landmarks = replace(landmarks, weights=rng.dirichlet(np.ones(len(widths))))
    assert_same(rows, landmarks, int(rng.integers(1, min(60, len(landmarks.rows)) + 1)), search)


@pytest.mark.parametrize("scale", [1e-150, 1e-40, 1e-18, 1e-12, 1e12, 1e16, 1e30, 1e120])
@pytest.mark.parametrize("widths", [(6,), (2, 3)])
def test_any_scale(search, scale, widths):
    rows, offsets = placed(np.random.default_rng(0), 200, widths)
    rows[:, : offsets[-1]] *= scale
    assert_same(rows, even_landmarks(rows[:150], offsets), 10, search)


@pytest.mark.parametrize("shift", [1e2, 1e6])
def test_far_from_the_origin(search, shift):
    """Single precision rules out fewer then, and what is left is measured in double."""
    rows, offsets = placed(np.random.default_rng(0), 300, (4,))
    found = search(rows + shift, even_landmarks(rows[:200] + shift, offsets), 10)
    expected = search(rows, even_landmarks(rows[:200], offsets), 10)
    np.testing.assert_array_equal(found.index, expected.index)
    np.testing.assert_allclose(found.share, expected.share, atol=shift * 1e-13)


def test_equals(search):
    """Rows on a grid, of which many are equally far; rows that all are; landmarks that are there twice."""
    rng = np.random.default_rng(0)
    grid = rng.integers(0, 3, size=(400, 3)).astype(float)
    assert_same(grid, even_landmarks(np.unique(grid, axis=0), (0, 3)), 5, search)
    assert_same(np.eye(40), even_landmarks(np.eye(40), (0, 40)), 10, search)
    rows = rng.normal(size=(50, 2))
    assert_same(rows, even_landmarks(np.repeat(rows, 2, axis=0), (0, 2)), 6, search)


def test_rows_that_share_no_view_with_any_landmark(search):
    rows, offsets = placed(np.random.default_rng(0), 60, (2, 3))
    rows[:30, 6], rows[30:, 5] = 0, 0
    found = search(rows, even_landmarks(rows[:30], offsets), 4)
    assert not np.any(np.isnan(found.share[:30]))
    assert np.all(np.isnan(found.share[30:]))  # of any landmarks
    assert_same(rows[:30], even_landmarks(rows[:30], offsets), 4, search)


@pytest.mark.parametrize("value", [1e200, np.inf, np.nan])
def test_rows_out_of_range_go_to_the_equations(search, value):
    rows, offsets = placed(np.random.default_rng(0), 100, (3,))
    landmarks = even_landmarks(rows[:50], offsets)
    rows[70, 1] = value
    assert search(rows, landmarks, 5) is None
    assert search.embedded(rows, landmarks, 5, np.ones((50, 2))) is None
    with np.errstate(all="ignore"):
        found = neighbours(rows, replace(landmarks, search=search), 5, np)
        expected = neighbours(rows, landmarks, 5, np)
    np.testing.assert_array_equal(found.share, expected.share)


@pytest.mark.parametrize("name", ["rows", "typical", "weights"])
def test_landmarks_that_are_no_numbers_are_left_to_the_equations(search, name):
    rows, offsets = placed(np.random.default_rng(0), 100, (3, 2))
    landmarks = even_landmarks(rows[:50], offsets)
    spoilt = np.array(getattr(landmarks, name))
    spoilt[..., 0] = np.nan
    assert search(rows, replace(landmarks, **{name: spoilt}), 5) is None


def test_blocks_do_not_matter(search):
    rows, offsets = placed(np.random.default_rng(0), 130, (4, 3), missing=True)
    landmarks = even_landmarks(rows, offsets)
    whole = search(rows, landmarks, 7)
    parts = [search(rows[start : start + 13], landmarks, 7) for start in range(0, 130, 13)]
    for one, together in zip(zip(*parts, strict=True), whole, strict=True):
        np.testing.assert_array_equal(np.concatenate(one), together)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"n_neighbors": 0}, "cannot find 0 of 8 landmarks"),
        ({"n_neighbors": 9}, "cannot find 9 of 8 landmarks"),
        ({"rows": np.ones((5, 3))}, "rows of shape"),
        ({"offsets": (0, 2, 2)}, "offsets that rise"),
        ({"offsets": (0, 1, 3)}, "of the columns that"),
        ({"typical": np.ones(3)}, "usual distances of shape"),
    ],
)
def test_what_does_not_fit_is_refused(change, match):
    rows, offsets = placed(np.random.default_rng(0), 8, (1, 1))
    landmarks = even_landmarks(rows, offsets)
    given = {"rows": rows, "n_neighbors": 3}
    for name, value in change.items():
        if name in given:
            given[name] = value
        else:
            landmarks = replace(landmarks, **{name: value})
    with pytest.raises(ValueError, match=match):
        SearchCall(given["rows"], landmarks, given["n_neighbors"])


@needs_library
def test_fits_and_answers_use_it(monkeypatch):
    """Fits, predictions and scores are the same with and without, and with it no row goes to the equations."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(150, 3)) + 6 * np.eye(3)[j] for j in range(3)])
    views = {"one": rows, "other": rng.normal(size=(450, 2))}
    for estimator, X in ((KernelPowerKMeans, rows), (MultiViewPowerKMeans, views)):
        plain = estimator(3, feature_map="graph", random_state=0, engine="numpy", advice=False).fit(X)
        with monkeypatch.context() as patched:
            patched.setattr("powerkmeans.features.graph.neighbours.in_tiles", None)
            fast = estimator(3, feature_map="graph", random_state=0, advice=False).fit(X)
            assert adjusted_rand_score(fast.predict(X), plain.labels_) == 1
            scores = fast.outlier_score(X)
        assert adjusted_rand_score(fast.labels_, plain.labels_) == 1  # the numbers of clusters go by rounding
        np.testing.assert_allclose(scores, plain.outlier_score(X), rtol=1e-7)


@needs_library
def test_maps_carry_it_between_processes():
    model = KernelPowerKMeans(3, feature_map="graph", random_state=0, advice=False)
    rows = np.random.default_rng(0).normal(size=(60, 2))
    (feature_map,) = model.fit(rows)._fit.model.maps
    passes = open_engine(NumpyOptions(), Views(("X",), (rows,), np.ones(60))).passes
    fast = fastest(feature_map, passes)
    assert isinstance(passes[-1], CompiledPass)
    assert fast.base.search == search_of(passes)
    assert feature_map.base.search is None  # what is saved knows nothing of it
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fast))(rows, np), fast(rows, np))
    assert search_of(()) is None
