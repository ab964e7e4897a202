"""Files larger than memory: the same answers as from arrays, and errors that say where."""

from __future__ import annotations

import errno
import functools
import os
import threading

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_info

from helpers import blobs, make_views, quick, quick_views
from powerkmeans import open_source
from powerkmeans.compute import blocks
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.executors.threads import BLOCKS_AHEAD
from powerkmeans.compute.passes import available_passes
from powerkmeans.engines import NumpyOptions
from powerkmeans.sources import SourceChangedError, output

X = blobs(4, 6, 120, 1.5)[0].astype(np.float32)
NAMES = [f"c{i}" for i in range(6)]


def same(found, expected):
    """Equal bits; to rounding with NumPy, whose products depend on where rows lie in memory."""
    if not available_passes("auto", np):
        return np.allclose(found, expected, rtol=1e-4, atol=1e-5)
    return np.array_equal(found, expected)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 2**12)


def save(folder, kind, rows=X):
    path = folder / f"rows.{kind}"
    if kind == "npy":
        np.save(path, rows)
    elif kind == "zarr":
        zarr = pytest.importorskip("zarr")
        zarr.save_array(path, rows)
    else:
        pa = pytest.importorskip("pyarrow")
        table = pa.table({name: rows[:, i] for i, name in enumerate(NAMES)})
        if kind == "parquet":
            pytest.importorskip("pyarrow.parquet").write_table(table, path, row_group_size=77)
        else:
            pytest.importorskip("pyarrow.feather").write_feather(table, path)
    return path


@functools.cache
def of_the_array(budget):
    engine = NumpyOptions(memory_budget=budget)
    return quick(4, membership="possibilistic", random_state=0, engine=engine).fit(X)


@pytest.mark.parametrize(
    ("kind", "budget"),
    [*((kind, 2**30) for kind in ("npy", "parquet", "feather", "zarr")), ("parquet", 2**15)],
    ids=["npy", "parquet", "feather", "zarr", "features anew in every pass"],
)
def test_fits_and_answers_are_those_of_the_array(tmp_path, kind, budget):
    source = open_source(save(tmp_path, kind))
    of_array = of_the_array(budget)
    of_file = clone(of_array).fit(source)
    assert np.array_equal(of_file.labels_, of_array.labels_)
    assert same(of_file.objective_, of_array.objective_)
    assert same(of_file.predict_proba(source), of_array.predict_proba(X))
    assert same(of_file.transform(source), of_array.transform(X))
    assert same(of_file.outlier_score(source), of_array.outlier_score(X))
    assert same(of_file.score(source), of_array.score(X))
    assert of_file.n_features_in_ == 6


def test_views_from_files_and_arrays_together(tmp_path):
    source = open_source(save(tmp_path, "parquet"), columns=NAMES[3:])
    expected = quick_views(4, feature_map="nystroem", random_state=0).fit({"a": X[:, :3], "b": X[:, 3:]})
    found = quick_views(4, feature_map="nystroem", random_state=0).fit({"a": X[:, :3], "b": source})
    assert np.array_equal(found.labels_, expected.labels_)
    assert same(found.objective_, expected.objective_)
    assert np.array_equal(found.predict({"a": X[:, :3], "b": source}), expected.labels_)


def test_views_are_columns_of_one_file(tmp_path):
    path = save(tmp_path, "parquet")
    expected = quick_views(4, feature_map="nystroem", random_state=0).fit({"a": X[:, :3], "b": X[:, 3:]})
    found = quick_views(4, feature_map="nystroem", random_state=0, views={"a": slice(0, 3), "b": NAMES[3:]})
    assert np.array_equal(found.fit_predict(open_source(path)), expected.labels_)
    assert np.array_equal(found.predict(open_source(path)), expected.labels_)
    alone = quick_views(4, feature_map="nystroem", random_state=0).fit(open_source(path))
    assert alone.view_weights_.tolist() == [1.0]
    with pytest.raises(TypeError, match="open it from a path to choose columns of it"):
        quick_views(4, views={"a": [0], "b": [1]}).fit(open_source(X))


def test_absent_rows_of_files_are_told_by_a_mask(tmp_path):
    source = open_source(save(tmp_path, "npy"))
    present = np.ones((len(X), 2), dtype=bool)
    present[::3, 1] = False
    missing = X.copy()
    missing[::3] = np.nan
    expected = quick_views(4, feature_map="nystroem", random_state=0).fit({"a": X, "b": missing})
    found = quick_views(4, feature_map="nystroem", random_state=0).fit({"a": source, "b": source}, present=present)
    assert np.array_equal(found.labels_, expected.labels_)
    np.save(tmp_path / "missing.npy", missing)
    partly = {"a": source, "b": open_source(tmp_path / "missing.npy")}
    assert np.array_equal(found.fit(partly, present=present).labels_, expected.labels_)
    assert np.array_equal(found.predict(partly, present=present), expected.labels_)
    with pytest.raises(ValueError, match="NaN in row 0, column 0"):
        found.predict(partly)


def test_weights_may_be_given(tmp_path):
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(np.float32)
    source = open_source(save(tmp_path, "npy"))
    expected = quick(4, random_state=0).fit(X, sample_weight=weight)
    found = quick(4, random_state=0).fit(source, sample_weight=weight)
    assert same(found.objective_, expected.objective_)


def test_columns_are_held_to_those_of_the_fit(tmp_path):
    path = save(tmp_path, "parquet")
    model = quick(4, random_state=0).fit(open_source(path))
    assert model.feature_names_in_.tolist() == NAMES
    with pytest.raises(ValueError, match="has the columns of the fit in another order"):
        model.predict(open_source(path, columns=NAMES[::-1]))
    with pytest.raises(ValueError, match=r"has other columns than in fit\. Lacking: 'c5'"):
        model.predict(open_source(path, columns=NAMES[:5]))
    np.save(tmp_path / "narrow.npy", X[:, :5])
    with pytest.raises(ValueError, match="X has 5 features, but KernelPowerKMeans is expecting 6"):
        model.predict(open_source(tmp_path / "narrow.npy"))
    assert np.array_equal(model.predict(open_source(save(tmp_path, "npy"))), model.labels_)


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_a_nan_in_the_middle_is_named(tmp_path, kind):
    rows = X.copy()
    rows[333, 2] = np.nan
    column = "2" if kind == "npy" else "'c2'"
    before = threading.active_count()
    with pytest.raises(ValueError, match=rf"rows.{kind}: NaN in row 333, column {column}"):
        quick(4).fit(open_source(save(tmp_path, kind, rows)))
    assert threading.active_count() <= before + BLOCKS_AHEAD


def test_a_file_that_changes_is_told(tmp_path):
    path = save(tmp_path, "npy")
    source = open_source(path)
    model = quick(4, random_state=0).fit(source)
    np.save(path, X[:200])
    for call in (model.predict, quick(4).fit):
        with pytest.raises(SourceChangedError, match="changed while it was being read"):
            call(source)


def test_too_few_rows_and_constant_files(tmp_path):
    np.save(tmp_path / "few.npy", X[:3])
    with pytest.raises(ValueError, match="n_samples=3 should be >= n_clusters=4"):
        quick(4).fit(open_source(tmp_path / "few.npy"))
    np.save(tmp_path / "constant.npy", np.ones((50, 2)))
    with pytest.raises(ValueError, match="All rows are equal"):
        quick(4).fit(open_source(tmp_path / "constant.npy"))


def test_answers_go_to_a_file_as_they_come(tmp_path):
    source = open_source(save(tmp_path, "npy"))
    model = quick(4, membership="possibilistic", random_state=0).fit(source)
    for name, function in [
        ("labels", model.predict),
        ("proba", model.predict_proba),
        ("distances", model.transform),
        ("typicality", model.typicality),
        ("scores", model.outlier_score),
    ]:
        found = function(source, out=tmp_path / f"{name}.npy")
        assert isinstance(found, np.memmap)
        assert same(found, function(X))
        assert np.array_equal(np.load(tmp_path / f"{name}.npy"), found)
    assert np.array_equal(model.predict(X, out=tmp_path / "again.npy"), model.labels_)
    threshold = float(np.quantile(model.outlier_score(X), 0.9))
    noisy = model.predict(source, noise_threshold=threshold, out=tmp_path / "noisy.npy")
    assert np.array_equal(noisy, model.predict(X, noise_threshold=threshold))
    assert 0.05 < np.mean(noisy == -1) < 0.15


def test_a_full_disk_leaves_older_answers_intact(tmp_path, monkeypatch):
    source = open_source(save(tmp_path, "npy"))
    model = quick(4, random_state=0).fit(source)
    out = tmp_path / "labels.npy"
    model.predict(source, out=out)
    older = out.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(output.os, "replace", full)
    with pytest.raises(OSError, match=r"labels\.npy"):
        model.predict(source, out=out, overwrite=True)
    assert out.read_bytes() == older
    assert sorted(p.name for p in tmp_path.iterdir()) == ["labels.npy", "rows.npy"]
    with pytest.raises(ValueError, match=r"\.npy"):
        model.predict(source, out=tmp_path / "labels.csv")


def test_samples_do_not_depend_on_where_rows_live(tmp_path):
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(np.float32)
    rows, weight = np.concatenate([X, X[:100]]), np.concatenate([weight, weight[:100]])
    np.save(tmp_path / "rows.npy", rows)
    of_array, of_file = (
        open_engine("auto", make_views([table], weight)).sample(50, seed=1)
        for table in (rows, open_source(tmp_path / "rows.npy"))
    )
    assert np.array_equal(of_array.views[0], of_file.views[0])
    assert np.array_equal(of_array.weight, of_file.weight)
    assert of_array.n_distinct == of_file.n_distinct == np.sum(weight[: len(X)] > 0)


def test_answers_do_not_overwrite_the_rows(tmp_path):
    path = save(tmp_path, "npy")
    model = quick(4, random_state=0).fit(X)
    before = path.read_bytes()
    for rows in (open_source(path), np.load(path, mmap_mode="r")):
        with pytest.raises(ValueError, match="is the file that the rows are read from; name another"):
            model.predict(rows, out=path)
    assert path.read_bytes() == before


def test_paths_are_not_data(tmp_path):
    path = str(save(tmp_path, "npy"))
    with pytest.raises(TypeError, match=r"open it with powerkmeans\.open_source\("):
        quick(4).fit(path)
    with pytest.raises(TypeError, match=r"open it with powerkmeans\.open_source\("):
        quick_views(4).fit({"a": path, "b": path})
    with pytest.raises(TypeError, match=r"open it with powerkmeans\.open_source\("):
        quick_views(4).fit(path)


def test_a_bad_name_holds_nothing(tmp_path):
    model = quick(4, random_state=0).fit(X)
    before = [lib["num_threads"] for lib in threadpool_info()]
    with pytest.raises(ValueError, match=r"must end in \.npy") as caught:
        model.predict(X, out=tmp_path / "labels.txt")
    assert caught.value.__traceback__ is not None
    assert [lib["num_threads"] for lib in threadpool_info()] == before
