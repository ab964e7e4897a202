"""Fits of a map that takes all views together: what they hold of drawn rows, and where features go."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import blobs, make_present, rounding
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.rows import RowEngine
from powerkmeans.engines import NumpyOptions
from powerkmeans.fitting import features, fused
from powerkmeans.fitting.prepare import prepare_views
from powerkmeans.fitting.samples import draw_samples, split_sample
from powerkmeans.sources import join_views, scratch
from powerkmeans.types import RowSample, Views

try:
    import resource
except ImportError:  # not on Windows
    resource = None


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


# features of 300 rows take 300 * ((4 + 1) * 8 + 16) bytes: more than half of this
SMALL = NumpyOptions(memory_budget=2**15)


@pytest.fixture
def aside(monkeypatch):
    """What is asked of temporary files, and what comes of it."""
    written, write = [], fused.written_aside

    def writing(*given):
        written.append(write(*given))
        return written[-1]

    monkeypatch.setattr(fused, "written_aside", writing)
    return written


def fitted(X, **settings):
    return KernelPowerKMeans(3, feature_map="graph", random_state=0, advice=False, **settings).fit(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_without_room_go_to_a_file_and_say_the_same(aside, dtype):
    X = blobs(size=200)[0].astype(dtype)
    there, kept, anew = (fitted(X, engine=e) for e in (SMALL, "auto", NumpyOptions(memory_budget=0)))
    assert [source.shape[0] for source in aside] == [len(X)]
    assert aside[0].dtype == dtype
    allowed = rounding(len(X), aside[0].shape[1], there.n_iter_, dtype) * len(X)
    for other in (kept, anew):
        assert np.array_equal(there.labels_, other.labels_)
        assert abs(there.objective_ - other.objective_) <= allowed
    assert np.array_equal(there.predict(X), there.labels_)


def test_verbose_says_where_features_are(capsys, monkeypatch):
    X, _ = blobs(size=200)
    for engine, said in (
        (SMALL, f"features of all rows: in a temporary file in {scratch.scratch_folder(1)}"),
        (NumpyOptions(memory_budget=0), "features of all rows are not kept: every pass makes them anew"),
    ):
        fitted(X, engine=engine, verbose=1)
        assert f"[powerkmeans] {said}\n" in capsys.readouterr().err
    fitted(X, verbose=1)
    assert "features of all rows" not in capsys.readouterr().err


def test_several_views_with_gaps_go_to_a_file_too(aside):
    X, _ = blobs(size=200)
    present = make_present(len(X), 2, np.random.default_rng(0))
    settings = {"feature_map": "graph", "random_state": 0, "advice": False}
    there, kept = (
        MultiViewPowerKMeans(3, engine=e, **settings).fit([X, X**2], present=present) for e in (SMALL, "auto")
    )
    assert len(aside) == 1
    assert np.array_equal(there.labels_, kept.labels_)


def test_the_file_is_gone_when_the_fit_has_ended(aside):
    model = fitted(blobs(size=200)[0], engine=SMALL)
    file = aside.pop()._file
    gc.collect()
    assert file.closed
    assert model.labels_.shape == (600,)


def test_no_file_is_written_with_a_budget_of_nothing(aside):
    fitted(blobs(size=200)[0], engine=NumpyOptions(memory_budget=0))
    assert not aside


@pytest.mark.parametrize("trouble", ["no room", "full", "not allowed"])
def test_a_disk_that_does_not_take_features_costs_time_alone(aside, monkeypatch, tmp_path, trouble):
    X, _ = blobs(size=200)
    if trouble == "no room":
        monkeypatch.setattr(fused, "scratch_folder", lambda n_bytes: None)
    elif trouble == "full":
        monkeypatch.setattr(scratch, "_written", lambda file, part: False)
    else:
        monkeypatch.setattr(fused, "scratch_folder", lambda n_bytes: str(tmp_path / "missing"))
    found, anew = (fitted(X, engine=e) for e in (SMALL, NumpyOptions(memory_budget=0)))
    assert aside == ([] if trouble == "no room" else [None])
    assert np.array_equal(found.cluster_centers_, anew.cluster_centers_)


@pytest.mark.skipif(resource is None, reason="limits of processes are those of Unix")
def test_a_disk_that_is_full_indeed():
    code = """
import resource, sys
import numpy as np
from powerkmeans import KernelPowerKMeans
from powerkmeans.engines import NumpyOptions
X = np.random.default_rng(0).normal(size=(3000, 4))
resource.setrlimit(resource.RLIMIT_FSIZE, (2**14, 2**14))
engine = NumpyOptions(memory_budget=2**17)
model = KernelPowerKMeans(3, feature_map="graph", random_state=0, advice=False, engine=engine)
print(np.isfinite(model.fit(X).objective_))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")
