"""Rows that Dask has, worked on by its threads in this process: the answers are those of rows in memory."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from helpers import blobs, make_present, quick, quick_views
from powerkmeans import explain_views, load
from powerkmeans.compute import sampling
from powerkmeans.engines import DaskOptions, NumpyOptions

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
MAPS = ["auto", "graph", "nystroem", "rff", "identity"]
# two roads to the same sums differ by rounding, which iterations that contract do not magnify
SAME = 1e-12


@pytest.fixture(scope="module")
def rows():
    return blobs(4, 6, size=150, spread=2.2, seed=3)[0]


def same_fit(model, other, rows, *, bits=False):
    """Whether two fits came to the same, and tell the same of rows that one has from Dask."""
    given, lazy = rows
    for name in ("cluster_centers_", "view_weights_"):
        for a, b in zip(np.atleast_1d(getattr(model, name)), np.atleast_1d(getattr(other, name)), strict=True):
            assert np.allclose(a, b, rtol=0, atol=0 if bits else SAME * max(1, np.max(np.abs(a), initial=0))), name
    assert model.n_iter_ == other.n_iter_
    assert model.feature_map_ == other.feature_map_ if isinstance(model.feature_map_, str) else True
    assert isinstance(other.labels_, da.Array)
    assert np.array_equal(model.labels_, other.labels_.compute())
    assert np.array_equal(model.predict(given), other.predict(lazy).compute())


@pytest.mark.parametrize("feature_map", MAPS)
@pytest.mark.parametrize("chunks", [(600, 6), (300, 4), (90, 6)], ids=["1 chunk", "2 chunks", "7 chunks"])
def test_the_answer_of_rows_in_memory(rows, feature_map, chunks):
    model = quick(4, feature_map=feature_map, random_state=0).fit(rows)
    lazy = da.from_array(rows, chunks=chunks)
    bound = quick(4, feature_map=feature_map, random_state=0).fit(lazy)  # all chunks in one task: the same blocks
    graph = model.feature_map_ == "graph"  # whose features are kept in place of the rows if these are in memory
    same_fit(model, bound, (rows, lazy), bits=not graph)
    apart = quick(4, feature_map=feature_map, random_state=0, engine=DaskOptions(rows_per_task=1)).fit(lazy)
    same_fit(model, apart, (rows, lazy))


@pytest.mark.parametrize("feature_map", MAPS)
def test_what_is_kept_changes_nothing(rows, feature_map):
    lazy = da.from_array(rows, chunks=(90, 6))
    kept, not_kept = (
        quick(
            4, feature_map=feature_map, random_state=0, engine=DaskOptions(memory_budget=budget, rows_per_task=200)
        ).fit(lazy)
        for budget in (2**30, 0)
    )
    assert np.allclose(kept.cluster_centers_, not_kept.cluster_centers_, rtol=0, atol=SAME)
    assert np.array_equal(kept.labels_.compute(), not_kept.labels_.compute())


@pytest.mark.parametrize("feature_map", ["auto", "nystroem", "rff"])
@pytest.mark.parametrize("missing", ["no", "NaN", "told"])
def test_several_views_with_weights_and_missing_ones(rows, feature_map, missing):
    rng = np.random.default_rng(5)
    views = {"a": rows[:, :3].copy(), "b": rows[:, 3:] + 1, "c": rng.normal(size=(600, 2))}
    weight, present = rng.integers(0, 3, 600).astype(float), None
    if missing == "NaN":
        mask = make_present(600, 3, rng)
        for view, name in enumerate(views):
            views[name][~mask[:, view]] = np.nan
    elif missing == "told":
        present = make_present(600, 3, rng)
    lazy = {"a": da.from_array(views["a"], chunks=(90, 2)), "b": da.from_array(views["b"], chunks=250)}
    lazy["c"] = da.from_array(views["c"], chunks=(600, 2))
    model = quick_views(3, feature_map=feature_map, random_state=1, advice=False)
    model.fit(views, sample_weight=weight, present=present)
    told = da.from_array(present, chunks=100) if present is not None else None
    other = quick_views(3, feature_map=feature_map, random_state=1, advice=False)
    other.set_params(engine=DaskOptions(rows_per_task=150))
    other.fit(lazy, sample_weight=da.from_array(weight, chunks=77), present=told)
    assert np.allclose(model.view_weights_, other.view_weights_, rtol=0, atol=SAME)
    assert np.isclose(model.inertia_, other.inertia_, rtol=1e-9)
    assert np.array_equal(model.labels_, other.labels_.compute())
    for method in ("predict", "predict_proba", "transform", "typicality", "outlier_score"):
        expected = getattr(model, method)(views, present=present)
        found = getattr(other, method)(lazy, present=told)
        assert isinstance(found, da.Array)
        assert found.dtype == expected.dtype
        assert np.allclose(expected, found.compute(), rtol=0, atol=1e-9)
    assert np.isclose(
        model.score(views, sample_weight=weight, present=present),
        other.score(lazy, sample_weight=weight, present=told),
        rtol=1e-12,
    )
    medoids, means = (getattr(model, name)(views, present=present) for name in ("medoid_indices", "cluster_means"))
    assert np.array_equal(medoids, other.medoid_indices(lazy, present=told))
    assert np.array_equal(model.medoid_indices_, other.medoid_indices_)
    for name, found in other.cluster_means(lazy, present=told).items():
        assert np.allclose(means[name], found, rtol=0, atol=1e-9)
    first, second = (explain_views(m, X, present=p) for m, X, p in ((model, views, present), (other, lazy, told)))
    for name, column in first.items():
        if np.asarray(column).dtype.kind == "f":
            assert np.allclose(column, second[name], rtol=0, atol=1e-9, equal_nan=True), name


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool])
def test_other_types(dtype):
    X = (blobs(3, 4, seed=1)[0] * 3).astype(dtype) if dtype is not bool else blobs(3, 8, seed=1)[0] > 0
    model, other = (quick(3, feature_map="rff", random_state=0).fit(r) for r in (X, da.from_array(X, chunks=50)))
    assert model.cluster_centers_.dtype == other.cluster_centers_.dtype
    assert np.array_equal(model.cluster_centers_, other.cluster_centers_)
    assert other.transform(da.from_array(X, chunks=50)).dtype == model.transform(X).dtype


def test_chunks_of_any_length_and_of_unknown_ones(rows):
    model = quick(4, random_state=0).fit(rows)
    lengths = (0, 1, 300, 0, 0, 298, 1, 0)
    lazy = da.from_array(rows, chunks=(600, 6)).rechunk((lengths, (1, 5)))
    same_fit(model, quick(4, random_state=0).fit(lazy), (rows, lazy))
    unknown = da.concatenate([lazy[:300][lazy[:300, 0] > -np.inf], lazy[300:]])
    assert np.isnan(unknown.shape[0])
    other = quick(4, random_state=0).fit(unknown)
    same_fit(model, other, (rows, unknown))
    assert np.allclose(model.transform(rows), other.transform(unknown).compute(), rtol=0, atol=1e-9)
    assert np.isclose(model.score(rows), other.score(unknown), rtol=1e-12)


def test_data_frames(rows):
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list("abcdef"))
    lazy = dd.from_pandas(frame, npartitions=7)
    model, other = quick(4, random_state=0).fit(frame), quick(4, random_state=0).fit(lazy)
    assert list(other.feature_names_in_) == list("abcdef")
    same_fit(model, other, (frame, lazy))
    with pytest.raises(ValueError, match="other columns than in fit"):
        other.predict(lazy.rename(columns={"a": "z"}))
    cut = {"left": ["a", "b", "c"], "right": ["d", "e", "f"]}
    several, others = (quick_views(4, views=cut, random_state=0).fit(X) for X in (frame, lazy))
    assert np.array_equal(several.labels_, others.labels_.compute())
    named = frame.rename(columns=lambda c: f"{'left' if c < 'd' else 'right'}:{c}")
    prefixed = quick_views(4, random_state=0).fit(dd.from_pandas(named, npartitions=3))
    assert list(prefixed.view_names_in_) == ["left", "right"]
    assert np.array_equal(several.labels_, prefixed.labels_.compute())
    with pytest.raises(TypeError, match="columns 'g' do not hold numbers"):
        other.predict(dd.from_pandas(frame.assign(g="text"), npartitions=2))
    with pytest.raises(ValueError, match="Series"):
        quick(2).fit(lazy["a"])


def test_xarray(rows):
    xarray = pytest.importorskip("xarray")
    lazy = da.from_array(rows, chunks=(200, 6))
    table = xarray.DataArray(lazy, dims=("cell", "gene"), coords={"gene": list("abcdef")})
    model, other = quick(4, random_state=0).fit(rows), quick(4, random_state=0).fit(table)
    assert list(other.feature_names_in_) == list("abcdef")
    assert np.array_equal(model.labels_, other.labels_.compute())
    assert np.array_equal(model.labels_, other.predict(table).compute())
    views = quick_views(4, random_state=0).fit({"x": rows[:, :3], "y": rows[:, 3:]})
    dataset = xarray.Dataset({"x": (("cell", "g"), lazy[:, :3]), "y": (("cell", "h"), lazy[:, 3:])})
    assert np.array_equal(views.labels_, quick_views(4, random_state=0).fit(dataset).labels_.compute())
    eager = xarray.DataArray(rows, dims=("cell", "gene"))
    assert isinstance(quick(4, random_state=0).fit(eager).labels_, np.ndarray)


def test_directions(rows):
    from scipy import sparse

    counts = np.random.default_rng(0).poisson(0.6, size=(300, 20)).astype(float)
    counts[7] = 0
    model = quick(3, metric="cosine", random_state=0)
    other = quick(3, metric="cosine", random_state=0, engine=DaskOptions(rows_per_task=100))
    with pytest.warns(UserWarning, match="row 7 is zero"):
        model.fit(counts)
    with pytest.warns(UserWarning, match="row 7 is zero"):
        other.fit(da.from_array(counts, chunks=50))
    assert np.array_equal(model.labels_, other.labels_.compute())
    lazy = da.from_array(counts, chunks=(50, 20)).map_blocks(sparse.csr_matrix)
    assert np.array_equal(model.labels_, other.predict(lazy).compute())


def test_samples_do_not_depend_on_chunks(monkeypatch):
    monkeypatch.setattr(sampling, "HELD", 500)
    from powerkmeans.compute.engine import open_engine
    from powerkmeans.inputs.lazy import lazy_views
    from powerkmeans.sources.dask import open_dask
    from powerkmeans.types import Views

    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    X[::3] = X[0]  # one row that is heavy
    weight = rng.uniform(0, 2, 6000)
    expected = open_engine("auto", Views(("X",), (X,), weight)).sample(100, 4)
    for chunks, most in ((6000, None), (1000, None), (170, 300), (170, 1)):
        views = lazy_views({"X": open_dask(da.from_array(X, chunks=(chunks, 2)))}, weight, None)
        found = open_engine(DaskOptions(rows_per_task=most), views).sample(100, 4)
        assert np.array_equal(expected.rows, found.rows)
        assert np.array_equal(expected.views[0], found.views[0])
        assert np.allclose(expected.weight, found.weight, rtol=1e-13)
        assert expected.n_distinct == found.n_distinct


def test_nothing_of_all_rows_comes_to_this_machine(rows, monkeypatch):
    """Answers are arrays of Dask, and a fit asks for sums and for the sample alone."""
    from powerkmeans.compute.cluster import DaskEngine

    def refused(*args):
        raise AssertionError("rows were asked for")

    monkeypatch.setattr(DaskEngine, "map_rows", refused)
    monkeypatch.setattr(DaskEngine, "map_blocks", refused)
    model = quick(4, random_state=0).fit(da.from_array(rows, chunks=200))
    assert len(model._fit.labels) == 0
    assert model.labels_.chunks == ((200, 200, 200),)


def test_what_else_takes_such_rows(rows):
    from powerkmeans import KernelPowerKMeans, choose_k, open_source
    from powerkmeans.report import write_report

    lazy = da.from_array(rows, chunks=(100, 6))
    source = open_source(lazy, columns=[4, 0])
    assert source.shape == (600, 2)
    assert np.array_equal(np.concatenate(list(source.blocks(170))), rows[:, [4, 0]])
    assert np.array_equal(source.take(np.array([3, 411])), rows[[3, 411]][:, [4, 0]])
    expected = quick(3, random_state=0).fit(rows[:, [4, 0]]).labels_
    assert np.array_equal(quick(3, random_state=0).fit(source).labels_.compute(), expected)
    assert choose_k(lazy, k_max=5, random_state=0).k == choose_k(rows, k_max=5, random_state=0).k
    with pytest.raises(TypeError, match="Dask has these"):
        write_report("page.html", KernelPowerKMeans(3, random_state=0).fit(rows), lazy)
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from powerkmeans.plotting import EmbeddingDisplay

    model = quick(3, random_state=0).fit(lazy)
    assert len(EmbeddingDisplay.from_estimator(model, lazy, max_samples=50).labels) == 50
    assert len(EmbeddingDisplay.from_estimator(model, lazy).labels) == 600


def test_a_far_value_is_told_by_view_row_and_column(rows):
    spoilt = rows.copy()
    spoilt[571, 4] = np.nan
    lazy = da.from_array(spoilt, chunks=(90, 6))
    with pytest.raises(ValueError, match=r"X: NaN in row 571, column 4\."):
        quick(4).fit(lazy)
    spoilt[571, 4] = np.inf
    lazy = da.from_array(spoilt, chunks=(90, 6))
    with pytest.raises(ValueError, match=r"X: infinity in row 571, column 4\."):
        quick(4, engine=DaskOptions(rows_per_task=1)).fit(lazy)
    model = quick(4).fit(da.from_array(rows, chunks=90))
    with pytest.raises(ValueError, match=r"X: infinity in row 571, column 4\."):
        model.predict(lazy).compute()
    for feature_map in ("auto", "rff"):
        views = {"good": da.from_array(rows, chunks=100), "bad": lazy[:, 3:]}
        with pytest.raises(ValueError, match=r"view 'bad': infinity in row 571, column 1\."):
            quick_views(4, feature_map=feature_map).fit(views)


def test_what_is_wrong_is_told(rows):
    lazy = da.from_array(rows, chunks=(100, 6))
    with pytest.raises(ValueError, match="view 'b' has 500 samples, expected 600"):
        quick_views(3).fit({"a": lazy, "b": lazy[:500]})
    with pytest.raises(TypeError, match=r"view 'b' is a numpy\.ndarray, but other views are with Dask"):
        quick_views(3).fit({"a": lazy, "b": rows})
    with pytest.raises(ValueError, match="n_samples=3 should be >= n_clusters=4"):
        quick(4).fit(lazy[:3])
    with pytest.raises(ValueError, match="dimensions"):
        quick(4).fit(lazy[:, 0])
    with pytest.raises(TypeError, match="not real numbers"):
        quick(4).fit(lazy.astype(complex))
    with pytest.raises(ValueError, match="is with Dask, but feature_map='exact'"):
        quick(4, feature_map="exact").fit(lazy)
    with pytest.raises(ValueError, match="is not for rows that Dask has"):
        quick(4, engine=NumpyOptions()).fit(lazy)
    with pytest.raises(ValueError, match="these are in memory"):
        quick(4, engine=DaskOptions()).fit(rows)
    with pytest.raises(ValueError, match="All rows are equal"):
        quick(4).fit(da.ones((50, 2), chunks=10))
    with pytest.raises(ValueError, match="features as input"):
        quick(4).fit(lazy).predict(lazy[:, :5])
    gone = da.where(np.arange(600)[:, None] == 7, np.nan, lazy)
    with pytest.raises(ValueError, match="Sample 7 has no view"):
        quick_views(3).fit([gone, gone])
    with pytest.raises(ValueError, match="view 'b' is missing in all"):
        quick_views(3).fit({"a": lazy, "b": lazy * np.nan})
    with pytest.raises(ValueError, match="out= is for rows of this machine"):
        quick(4).fit(lazy).predict(lazy, out="labels.npy")
    for name, value in {"client": 3, "rows_per_task": 0, "memory_budget": -1, "kernel": "fast"}.items():
        with pytest.raises(ValueError, match=name):
            DaskOptions(**{name: value})


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(600), "at least one non-zero"),
        (np.where(np.arange(600) == 9, -1.0, 1.0), "row 9 has -1"),
        (np.where(np.arange(600) == 9, np.nan, 1.0), "sample 9"),
        (np.ones(30), r"has the shape \(30,\), but there are 600 samples"),
        (np.ones((600, 2)), "1D"),
        (np.full(600, 1e300), "divide it by its largest value"),
        ("heavy", "sample_weight"),
    ],
)
def test_wrong_weights(rows, weight, message):
    with pytest.raises(ValueError, match=message):
        quick(4).fit(da.from_array(rows, chunks=100), sample_weight=weight)


def test_a_model_can_be_saved_sent_and_gone_on_with(rows, tmp_path):
    lazy = da.from_array(rows, chunks=200)
    model = quick(4, random_state=0).fit(lazy)
    model.save(tmp_path / "model.npz")
    loaded = load(tmp_path / "model.npz")
    assert np.array_equal(loaded.predict(rows), model.labels_.compute())
    assert np.array_equal(loaded.predict(lazy).compute(), model.labels_.compute())
    sent = pickle.loads(pickle.dumps(model))
    assert len(sent.labels_) == 0  # they would hold the rows
    assert np.array_equal(sent.predict(rows), model.labels_.compute())
    before = model.n_samples_seen_
    model.partial_fit(lazy[:200])
    loaded.partial_fit(rows[:200])
    assert model.n_samples_seen_ == before + 200 == loaded.n_samples_seen_
    assert np.allclose(model.cluster_centers_, loaded.cluster_centers_, rtol=0, atol=SAME)
    with pytest.raises(TypeError, match="partial_fit takes chunks"):
        quick(4).partial_fit(lazy)


def test_empty_chunks_with_weights_and_views(rows):
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list("abcdef")).assign(day=np.arange(600) // 100, w=1.0)
    lazy = dd.from_pandas(frame, npartitions=6)
    late, lazy_late = frame[frame.day >= 2], lazy[lazy.day >= 2]  # two partitions are empty, and lengths unknown
    model = quick(4, random_state=0).fit(late[list("abcdef")], sample_weight=late.w)
    other = quick(4, random_state=0).fit(lazy_late[list("abcdef")], sample_weight=lazy_late.w)
    assert np.array_equal(model.labels_, other.labels_.compute())
    views = {"x": ["a", "b", "c"], "y": ["d", "e", "f"]}
    several = quick_views(4, views=views, random_state=0).fit(late[list("abcdef")])
    others = quick_views(4, views=views, random_state=0).fit(lazy_late[list("abcdef")])
    assert np.array_equal(several.labels_, others.labels_.compute())
    assert list(others.feature_names_in_) == list("abcdef")
    assert np.isclose(
        model.score(late[list("abcdef")], sample_weight=late.w),
        other.score(lazy_late[list("abcdef")], sample_weight=lazy_late.w),
        rtol=1e-12,
    )
    with pytest.raises(ValueError, match="n_samples=0 should be"):
        quick_views(4).fit([da.from_array(rows)[:0], da.from_array(rows)[:0]])
    with pytest.raises(ValueError, match="no rows"):
        other.score(lazy_late[list("abcdef")].partitions[:1])


def test_masks_go_by_name_and_hold_truth_alone(rows):
    import pandas as pd

    rng = np.random.default_rng(3)
    mask = make_present(600, 2, rng)
    views = {"a": rows[:, :3], "b": rows[:, 3:]}
    lazy = {name: da.from_array(table, chunks=200) for name, table in views.items()}
    told = pd.DataFrame({"b": mask[:, 1], "a": mask[:, 0]})
    model = quick_views(4, feature_map="rff", random_state=0, advice=False).fit(views, present=told)
    for present in (told, dd.from_pandas(told, npartitions=3), {"a": mask[:, 0], "b": da.from_array(mask[:, 1])}):
        other = quick_views(4, feature_map="rff", random_state=0, advice=False).fit(lazy, present=present)
        assert np.array_equal(model.labels_, other.labels_.compute())
    with pytest.raises(ValueError, match="present must hold True"):
        quick_views(4).fit(lazy, present=mask * 0.5)
    with pytest.raises(TypeError, match="present must hold numbers"):
        quick_views(4).fit(lazy, present=np.full((600, 2), "no"))
    with pytest.raises(ValueError, match="names the view 'c'"):
        quick_views(4).fit(lazy, present={"c": mask[:, 0]})
    with pytest.raises(ValueError, match="but there are 600 samples"):
        quick_views(4).fit(lazy, present={"a": mask[:5, 0]})
    weight = np.where(mask[:, 0], 0.0, 1.0)
    with pytest.raises(ValueError, match="view 'a' is missing in all samples"):
        quick_views(4).fit(lazy, sample_weight=weight, present=mask)


def test_columns_of_two_levels(rows):
    import pandas as pd

    columns = pd.MultiIndex.from_product([["p", "q"], ["x", "y", "z"]])
    frame = pd.DataFrame(rows, columns=columns)
    model, other = (quick_views(4, random_state=0).fit(X) for X in (frame, dd.from_pandas(frame, npartitions=3)))
    assert list(other.view_names_in_) == list(model.view_names_in_) == ["p", "q"]
    assert np.array_equal(model.labels_, other.labels_.compute())


def test_what_is_no_table_is_told(rows):
    dask = pytest.importorskip("dask")
    lazy = da.from_array(rows, chunks=100)
    with pytest.raises(TypeError, match="of Dask; expected an array or a data frame"):
        quick(4).fit(dask.delayed(rows))
    with pytest.raises(ValueError, match="no columns"):
        quick(4).fit(lazy[:, :0])
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        quick(4).fit(lazy.map_blocks(lambda block: block[block[:, 0] > 0], dtype=float))
    with pytest.raises(TypeError, match="sample_weight must hold numbers"):
        quick(4).fit(lazy, sample_weight=np.ones(600, dtype=complex))
    with pytest.raises(ValueError, match="set_output makes frames"):
        quick(4).set_output(transform="pandas").fit(lazy).transform(lazy)


@pytest.mark.parametrize("feature_map", ["rff", "nystroem", "graph"])
def test_learning_from_such_rows(rows, feature_map):
    lazy = da.from_array(rows, chunks=150)
    here, there = (quick(4, feature_map=feature_map, random_state=0).fit(rows[:300]) for _ in range(2))
    here.partial_fit(rows[300:])
    there.partial_fit(lazy[300:])
    assert np.allclose(here.cluster_centers_, there.cluster_centers_, rtol=0, atol=SAME)
    assert np.array_equal(here.labels_, there.labels_.compute())
