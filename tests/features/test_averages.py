"""Landmarks that are means of rows: groups and means against loops, and what they do not depend on."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

import oracle
from helpers import blobs, make_present, quick, quick_views
from powerkmeans import open_source
from powerkmeans.features.averages import groups_around, landmark_rows
from powerkmeans.features.graph.build import Rows, even_landmarks
from powerkmeans.features.graph.placing import Placing, origin_of
from powerkmeans.features.maps.base import Averaging, MapRequest, Tools
from powerkmeans.types import RowSample

X, _ = blobs(3, 4, 20, 1.8)
RNG = np.random.default_rng(3)
WEIGHT = RNG.integers(1, 4, len(X)).astype(float)
EVERY = np.arange(len(X))
ALL = (0, 4)
SPLIT = (0, 2, 4)


def request_for(rows, offsets, least, unit=(False, False), bandwidth=None):
    """What a map on all the rows would be made from."""
    sample = RowSample((rows,), WEIGHT, n_distinct=rows.shape[0])
    averaging = Averaging(least, unit[: len(offsets) - 1])
    more = {"offsets": offsets, "averaging": averaging}
    return MapRequest(sample, "rbf", bandwidth, 40, np.dtype(float), 0, "X", rows, WEIGHT, 3, **more)


def joined(present):
    return np.hstack([X * np.repeat(present, 2, axis=1), present])


def views_of(row, offsets):
    """A row as a list of views, None where one is absent."""
    several = len(offsets) > 2
    return [
        None if several and not row[offsets[-1] + view] else row[start:end]
        for view, (start, end) in enumerate(pairwise(offsets))
    ]


def expected(rows, offsets, least, drawn):
    """Groups and their means by loops; rows are lists of views."""
    as_lists = [views_of(row, offsets) for row in rows]
    even = even_landmarks(Placing(origin_of(rows, offsets), offsets)(rows[drawn], np), offsets)
    usual = even.weights, even.typical, even.spread
    groups = oracle.groups_around(as_lists, drawn, least, lambda x, c: oracle.fused_distance(x, c, *usual))
    return groups, [oracle.mean_row([as_lists[i] for i in some], WEIGHT[some], least) for some in groups]


@pytest.mark.parametrize("least", [2, 5])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_one_view_against_loops(least, form):
    groups, means = expected(X, ALL, least, EVERY)
    assert min(map(len, groups)) >= least
    found = landmark_rows(request_for(form(X), ALL, least), len(X))
    assert found.dtype == np.float64
    assert form is not csr_array or found.has_sorted_indices
    found = found.toarray() if form is csr_array else found
    np.testing.assert_allclose(found, [mean[0] for mean in means], rtol=1e-12, atol=1e-12)


def test_groups_around_some_rows_against_loops():
    drawn = EVERY[::4]
    groups, _ = expected(X, ALL, 4, drawn)
    assert 2 < len(groups) < len(drawn), "some are dissolved, some are not"
    found = groups_around(Rows(X, WEIGHT, Tools()), Placing(origin_of(X, ALL), ALL), drawn, 4)
    assert [np.flatnonzero(found == number).tolist() for number in np.unique(found)] == groups


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_several_views_with_gaps_against_loops(form):
    rows = joined(make_present(len(X), 2, np.random.default_rng(0), 0.5))
    groups, means = expected(rows, SPLIT, 4, EVERY)
    found = landmark_rows(request_for(form(rows), SPLIT, 4), len(X))
    found = found.toarray() if form is csr_array else found
    marks = np.array([[part is not None for part in mean] for mean in means])
    assert marks.any(axis=1).all(), "a landmark lacks both views"
    assert not marks.all(), "in the example some lack one"
    assert sorted(i for some in groups for i in some) == list(range(len(rows)))
    np.testing.assert_array_equal(found[:, 4:], marks)
    filled = [np.hstack([np.zeros(2) if part is None else part for part in mean]) for mean in means]
    np.testing.assert_allclose(found[:, :4], filled, rtol=1e-12, atol=1e-12)


def test_a_row_that_shares_no_view_with_any_group_is_in_none():
    present = np.ones((len(X), 2))
    present[:, 1] = 0
    present[:2] = [0, 1]  # too few for a group of their own
    rows = joined(present)
    placing = Placing(np.zeros(6), SPLIT)
    group = groups_around(Rows(rows, WEIGHT, Tools()), placing, np.arange(len(X)), 4)
    assert group[:2].tolist() == [-1, -1]
    assert (group[2:] >= 0).all()
    assert landmark_rows(request_for(rows, SPLIT, 4), len(X))[:, 5].max() == 0


def test_means_of_unit_rows_have_unit_length():
    found = landmark_rows(request_for(X / np.linalg.norm(X, axis=1)[:, None], ALL, 3, unit=(True,)), 30)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)


def test_a_bandwidth_keeps_large_rows_in_range():
    near = landmark_rows(request_for(X, ALL, 3, bandwidth=2.0), 30)
    far = landmark_rows(request_for(1e200 * X, ALL, 3, bandwidth=2e200), 30)
    np.testing.assert_allclose(far, 1e200 * near, rtol=1e-9)


@pytest.mark.parametrize("feature_map", ["graph", "nystroem"])
def test_neither_order_nor_repetition_matters(feature_map):
    settings = {"feature_map": feature_map, "rows_per_landmark": 3, "random_state": 0, "advice": False}
    order = RNG.permutation(np.repeat(np.arange(len(X)), WEIGHT.astype(int)))
    weighted = quick(3, **settings).fit(X, sample_weight=WEIGHT)
    repeated = quick(3, **settings).fit(X[order])
    marks = [model._fit.model.maps[0].base.landmarks for model in (weighted, repeated)]
    np.testing.assert_allclose(*marks, rtol=1e-9, atol=1e-9)
    assert weighted.labels_[order].tolist() == repeated.labels_.tolist()


def test_rows_of_a_file_have_the_same_landmarks(tmp_path, capfd):
    np.save(tmp_path / "rows.npy", X)
    settings = {"feature_map": "nystroem", "rows_per_landmark": 3, "random_state": 0, "advice": False}
    from_file = quick(3, verbose=1, **settings).fit(open_source(tmp_path / "rows.npy"))
    assert "rows_per_landmark=3: landmarks are means of 3 rows or more" in capfd.readouterr().err
    marks = [model._fit.model.maps[0].base.landmarks for model in (from_file, quick(3, **settings).fit(X))]
    np.testing.assert_array_equal(*marks)


def test_single_precision_is_averaged_in_double():
    model = quick(3, rows_per_landmark=3, random_state=0, advice=False).fit(X.astype(np.float32))
    base = model._fit.model.maps[0].base
    means = base.landmarks + base.origin
    assert means.dtype == np.float64
    assert np.any(means != means.astype(np.float32))


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        (
            {"feature_map": "exact"},
            "rows_per_landmark=2 averages landmarks, .*='exact' keeps all .* Use .*nystroem",
        ),
        (
            {"feature_map": "rff"},
            "rows_per_landmark=2 has no meaning with feature_map='rff', which has no landmark",
        ),
        ({"feature_map": "identity"}, "no meaning with feature_map='identity'"),
        ({"rows_per_landmark": 40}, "rows_per_landmark=40 makes less than two landmarks of 60 distinct rows"),
        ({"rows_per_landmark": 0}, "'rows_per_landmark' parameter must be an int in the range .1, inf"),
    ],
)
def test_what_has_no_landmarks_says_so(settings, match):
    with pytest.raises(ValueError, match=match):
        quick(3, **{"rows_per_landmark": 2, **settings}).fit(X)


def test_views_with_and_without_landmarks_go_together():
    few = np.repeat(X[:4, 2:], 15, axis=0)
    with pytest.raises(ValueError, match="view 'b': rows_per_landmark=3 makes less than two landmarks of 4 dist"):
        quick_views(3, feature_map="nystroem", rows_per_landmark=3).fit({"a": X[:, :2], "b": few})
    model = quick_views(3, feature_map=["nystroem", "rff"], rows_per_landmark=3, random_state=0)
    assert model.fit({"a": X[:, :2], "b": few}).n_components_[0] <= 20
