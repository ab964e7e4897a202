"""Fits of a map that takes all views together: what they hold of the rows that are drawn."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import blobs, make_present
from powerkmeans import MultiViewPowerKMeans
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.rows import RowEngine
from powerkmeans.engines import NumpyOptions
from powerkmeans.fitting import features, fused
from powerkmeans.fitting.prepare import prepare_views
from powerkmeans.fitting.samples import draw_samples, split_sample
from powerkmeans.sources import join_views
from powerkmeans.types import RowSample, Views


def views_of(missing, dtypes=(np.float32, np.float32)):
    rng = np.random.default_rng(0)
    arrays = tuple(
        rng.normal(size=(300, width)).astype(dtype) for width, dtype in zip((3, 5), dtypes, strict=True)
    )
    present = make_present(300, 2, rng, 0.5) if missing else None
    return Views(("a", "b"), arrays, np.ones(300, dtype=np.float32), present)


@pytest.mark.parametrize("missing", [False, True])
def test_rows_of_single_views_are_columns_of_those_that_were_drawn(missing):
    views, settings = views_of(missing), SimpleNamespace(engine=NumpyOptions())
    joined = join_views(views)
    sample, _ = draw_samples(open_engine(settings.engine, joined), joined, settings.engine, 0)
    found = fused._raw_samples(views, sample, settings)
    rows, present = open_engine(settings.engine, views).take(sample.rows)
    expected = split_sample(RowSample(rows, sample.weight, present, sample.n_distinct), views.keys)
    for part, whole in zip(found, expected, strict=True):
        assert np.array_equal(part.views[0], whole.views[0])
        assert np.array_equal(part.weight, whole.weight)


def test_drawn_rows_are_not_taken_twice(monkeypatch):
    X, _ = blobs(size=100)

    def taken(engine, rows):
        assert len(engine.views.names) == 1, "the rows of all views are there"
        return take(engine, rows)

    take = RowEngine.take
    monkeypatch.setattr(RowEngine, "take", taken)
    MultiViewPowerKMeans(3, feature_map="graph", random_state=0, advice=False).fit([X, 2 * X])


def test_views_of_different_types_are_taken_as_they_are():
    views, settings = views_of(False, (np.float32, np.float64)), SimpleNamespace(engine=NumpyOptions())
    joined = join_views(views)
    sample, _ = draw_samples(open_engine(settings.engine, joined), joined, settings.engine, 0)
    assert [part.views[0].dtype for part in fused._raw_samples(views, sample, settings)] == [
        np.float32,
        np.float64,
    ]


def test_a_graph_that_is_not_taken_is_gone_before_landmarks_are_drawn(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 40))
    rejected, drawn = [], []

    def fused_views(*given):
        prepared = fused.prepare_fused(*given)
        rejected.append(weakref.ref(prepared.engine))
        return prepared

    def views_with_landmarks(*given):
        gc.collect()
        drawn.append(rejected[0]() is None)
        return prepare_views(*given)

    monkeypatch.setattr(features, "prepare_fused", fused_views)
    monkeypatch.setattr(features, "prepare_views", views_with_landmarks)
    MultiViewPowerKMeans(3, random_state=0, advice=False).fit([X[:, :20], X[:, 20:]])
    assert drawn == [True]
