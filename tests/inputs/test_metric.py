"""``metric="cosine"``: a model of directions is the model of rows that were scaled to unit length before."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

import powerkmeans
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, choose_k, explain_views, open_source
from powerkmeans.compute import blocks
from powerkmeans.features.maps.registry import MAPS as ALL_MAPS
from powerkmeans.inputs import metric as metric_module
from powerkmeans.inputs.metric import with_metrics
from powerkmeans.report.plane import project
from powerkmeans.types import Views

# "auto" is a graph or landmarks, and "orf" is made as "rff" is
MAPS = {name: kind for name, kind in ALL_MAPS.items() if name not in ("auto", "orf")}
each_map = pytest.mark.parametrize("feature_map", MAPS)
ANSWERS = ("predict", "predict_proba", "transform", "typicality", "outlier_score")


def directions(n=160, k=4, d=12, seed=0):
    """Clusters of directions with many zeros, whose rows have lengths over eight orders of magnitude."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    rows = rng.normal(size=(k, d))[y] + 0.3 * rng.normal(size=(n, d))
    return rows * (np.abs(rows) > 0.4) * np.exp(4 * rng.normal(size=(n, 1))), y


def unit(rows):
    """The same rows at unit length, by the formula."""
    found = rows / np.where(np.any(rows != 0, axis=1), np.max(np.abs(rows), axis=1), 1)[:, None]
    squares = np.cumsum(np.square(found, dtype=np.float64), axis=1)[:, -1:]
    return (found / np.sqrt(np.where(squares > 0, squares, 1))).astype(rows.dtype)


X, Y = directions()


QUICK = {"n_clusters": 4, "random_state": 0, "anneal_factor": 1.4}  # any annealing sees the same rows


def kernel(**parameters):
    return KernelPowerKMeans(**(QUICK | {"membership": "possibilistic"} | parameters))


def views(**parameters):
    return MultiViewPowerKMeans(**(QUICK | parameters))


def same(found, expected, rows, scaled, **given):
    """Hold a model of directions to one of unit rows, on the rows of either."""
    assert np.array_equal(found.labels_, expected.labels_)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-12)
    for name in ANSWERS:
        assert np.array_equal(getattr(found, name)(rows, **given), getattr(expected, name)(scaled, **given)), name
    assert found.score(rows, **given) == expected.score(scaled, **given)


@each_map
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_fit_of_directions_is_one_of_unit_rows(feature_map, dtype):
    rows = X.astype(dtype)
    found = kernel(feature_map=feature_map, metric="cosine").fit(rows)
    assert found.labels_.dtype == np.int32
    same(found, kernel(feature_map=feature_map).fit(unit(rows)), rows, unit(rows))
    assert adjusted_rand_score(Y, found.labels_) > 0.9


@each_map
def test_sparse_rows(feature_map):
    found = kernel(feature_map=feature_map, metric="cosine").fit(sparse.csr_matrix(X))
    expected = kernel(feature_map=feature_map).fit(sparse.csr_matrix(unit(X)))
    same(found, expected, sparse.csr_matrix(X), sparse.csr_matrix(unit(X)))


@each_map
def test_files_and_memory_maps(tmp_path, monkeypatch, feature_map):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 2**12)
    for name, rows in (("rows", X), ("scaled", unit(X))):
        np.save(tmp_path / f"{name}.npy", rows)
    forms = [lambda name: np.load(tmp_path / f"{name}.npy", mmap_mode="r")]
    if not MAPS[feature_map].dual:
        forms.append(lambda name: open_source(tmp_path / f"{name}.npy"))
    for form in forms:
        found = kernel(feature_map=feature_map, metric="cosine").fit(form("rows"))
        expected = kernel(feature_map=feature_map).fit(form("scaled"))
        assert np.array_equal(found.labels_, expected.labels_)
        assert found.objective_ == pytest.approx(expected.objective_, rel=1e-9)
        assert found.transform(form("rows")) == pytest.approx(expected.transform(form("scaled")), abs=1e-7)
        found.predict(form("rows"), out=tmp_path / "labels.npy", overwrite=True)
        assert np.array_equal(np.load(tmp_path / "labels.npy"), found.labels_)


# --- several views

PLAIN = np.random.default_rng(1).normal(size=(len(X), 3)) + Y[:, None]
OTHER = np.random.default_rng(2).normal(size=(4, 6))[Y] + 0.5 * np.random.default_rng(3).normal(size=(len(X), 6))


@pytest.mark.parametrize(
    "metric",
    [
        ["euclidean", "cosine", "cosine"],
        ("euclidean", "cosine", "cosine"),
        np.array(["euclidean", "cosine", "cosine"]),
        {"words": "cosine", "angles": "cosine"},
    ],
    ids=["list", "tuple", "array", "dict"],
)
def test_each_view_has_a_metric_of_its_own(tmp_path, metric):
    rows = {"plain": PLAIN, "words": X, "angles": OTHER}  # not in the order of their names
    scaled = {"plain": PLAIN, "words": unit(X), "angles": unit(OTHER)}
    found, expected = views(metric=metric).fit(rows), views().fit(scaled)
    same(found, expected, rows, scaled)
    assert np.array_equal(found.view_weights_, expected.view_weights_)
    tables = [explain_views(model, data) for model, data in ((found, rows), (expected, scaled))]
    assert all(np.array_equal(tables[0][name], tables[1][name]) for name in tables[0])
    assert not np.array_equal(found.labels_, views().fit(rows).labels_)
    found.save(tmp_path / "model.npz")
    same(powerkmeans.load(tmp_path / "model.npz"), expected, rows, scaled)


@each_map
def test_missing_views_and_what_absent_rows_hold(feature_map):
    rng = np.random.default_rng(5)
    present = rng.random((len(X), 2)) > 0.3
    present[np.arange(len(X)), rng.integers(2, size=len(X))] = True
    scaled = {"a": unit(X), "b": PLAIN}
    settings = {"feature_map": feature_map}
    expected = views(**settings).fit(scaled, present=present)
    for rubbish in (0.0, 7.0, np.nan, np.inf):
        rows = {"a": np.where(present[:, :1], X, rubbish), "b": PLAIN}
        found = views(metric={"a": "cosine"}, **settings).fit(rows, present=present)
        same(found, expected, rows, scaled, present=present)
    alone = {"a": None, "b": PLAIN}
    assert np.array_equal(found.predict(alone), expected.predict(alone))


def test_a_view_that_no_sample_has_takes_no_memory():
    bare = np.broadcast_to(np.zeros(()), (10**9, 10**6))
    given = Views(("a", "b"), (bare, PLAIN), np.ones(2), np.array([[False, True]] * 2))
    assert with_metrics(given, ("cosine", "euclidean")).arrays == (bare, PLAIN)


def test_a_constant_view_is_left_out_with_its_metric():
    rows = {"words": X, "flat": np.full((len(X), 2), 3.0)}
    with pytest.warns(match="'flat' is constant"):
        found = views(metric={"words": "cosine"}).fit(rows)
    with pytest.warns(match="'flat' is constant"):
        expected = views().fit(rows | {"words": unit(X)})
    same(found, expected, rows, rows | {"words": unit(X)})


# --- what directions promise


@each_map
def test_the_length_of_a_row_changes_no_label(feature_map):
    factors = np.exp(np.random.default_rng(7).uniform(-60, 60, (len(X), 1)))
    model = kernel(feature_map=feature_map, metric="cosine").fit(X)
    assert np.array_equal(model.predict(factors * X), model.labels_)
    assert model.transform(factors * X) == pytest.approx(model.transform(X), abs=1e-6)
    by_two = kernel(feature_map=feature_map, metric="cosine").fit(2.0 ** np.rint(np.log2(factors)) * X)
    assert np.array_equal(by_two.labels_, model.labels_)
    assert by_two.objective_ == model.objective_
    # other factors round, so rows are drawn otherwise; the clusters are the same
    again = kernel(feature_map=feature_map, metric="cosine").fit(factors * X)
    assert adjusted_rand_score(again.labels_, model.labels_) > 0.95


@each_map
@pytest.mark.parametrize("size", [1e30, 1e-30])
def test_lengths_whose_squares_leave_single_precision(feature_map, size):
    rows = unit(X.astype(np.float32))
    model = kernel(feature_map=feature_map, metric="cosine").fit(rows)
    large = (rows * np.float32(size)).astype(np.float32)
    assert np.array_equal(model.predict(large), model.labels_)
    again = kernel(feature_map=feature_map, metric="cosine").fit(large)
    assert adjusted_rand_score(again.labels_, model.labels_) > 0.95


@each_map
def test_a_row_of_zeros_is_answered(feature_map):
    rows = X.copy()
    rows[[3, 8]] = 0
    model = kernel(feature_map=feature_map, metric="cosine", advice=False).fit(rows)
    assert model.labels_[3] == model.labels_[8]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(model.predict(rows), model.labels_)
        for name in ANSWERS:
            assert np.all(np.isfinite(getattr(model, name)(rows))), name
    same(model, kernel(feature_map=feature_map, advice=False).fit(unit(rows)), rows, unit(rows))


@each_map
def test_rows_that_point_one_way_are_nothing_to_cluster(feature_map):
    rows = np.outer(np.exp(np.random.default_rng(0).normal(size=60)), np.random.default_rng(1).normal(size=5))
    with pytest.raises(ValueError, match=r"nothing to cluster.*metric='cosine' sees no difference"):
        kernel(feature_map=feature_map, metric="cosine").fit(rows)
    with pytest.raises(ValueError, match="All rows are equal"):
        kernel(feature_map=feature_map, metric="cosine").fit(np.arange(1.0, 61)[:, None])


# --- where rows come in


@each_map
def test_rows_are_scaled_once(monkeypatch, feature_map):
    seen = []

    def spy(table):
        seen.append(table)
        return powerkmeans.sources.unit_table(table)

    monkeypatch.setattr(metric_module, "unit_table", spy)
    model = views(feature_map=feature_map, metric={"a": "cosine"}).fit({"a": X, "b": PLAIN})
    assert [table is X for table in seen] == [True]
    for ask in (model.predict, model.transform, model.score, lambda rows: explain_views(model, rows)):
        seen.clear()
        ask({"a": X, "b": PLAIN})
        assert len(seen) == 1


@pytest.mark.parametrize("feature_map", [name for name in MAPS if MAPS[name].learns_from_streams])
def test_streams(tmp_path, feature_map):
    rows = np.tile(X, (10, 1)) * np.exp(np.random.default_rng(0).normal(size=(10 * len(X), 1)))
    models = [
        kernel(feature_map=feature_map, metric=metric, advice=False, n_init=1)
        for metric in ("cosine", "euclidean")
    ]
    for start in range(0, len(rows), 400):
        for i, chunk in enumerate((rows[start : start + 400], unit(rows[start : start + 400]))):
            models[i].partial_fit(chunk)
            if start == 400:  # in the middle of what is collected, which is kept as it came
                models[i].save(tmp_path / f"{i}.npz")
                models[i] = powerkmeans.load(tmp_path / f"{i}.npz")
    assert models[0].n_samples_seen_ == len(rows)
    assert models[0].drift_ == pytest.approx(models[1].drift_, abs=1e-12)
    same(*models, X, unit(X))


@pytest.mark.parametrize("feature_map", [name for name in MAPS if not MAPS[name].dual])
def test_given_points_of_the_data_are_scaled_like_it(feature_map):
    settings = {"feature_map": feature_map, "s_init": -np.inf}
    chosen = [Y.tolist().index(cluster) for cluster in range(4)]
    found = kernel(metric="cosine", init=X[chosen], **settings).fit(X)
    same(found, kernel(init=unit(X)[chosen], **settings).fit(unit(X)), X, unit(X))


def test_choosing_a_number_and_reports_see_unit_rows(tmp_path):
    choices = [
        choose_k(rows, k_max=4, random_state=0, metric=metric)
        for rows, metric in ((X[::2], "cosine"), (unit(X[::2]), "euclidean"))
    ]
    assert str(choices[0]) == str(choices[1])
    models = [kernel(metric="cosine").fit(X), kernel().fit(unit(X))]
    planes = []
    for model, rows in zip(models, (X, unit(X)), strict=True):
        planes.append(project(model, model._new(rows), np.arange(0, len(X), 2), model.labels_[::2]).widest.points)
    assert np.array_equal(*planes)
    powerkmeans.report.write_report(tmp_path / "page.html", models[0], X)
    assert "cosine" in (tmp_path / "page.html").read_text(encoding="utf-8")


# --- what is not taken


@pytest.mark.parametrize("wrong", ["manhattan", "Cosine", None, 1, b"cosine"])
def test_other_metrics_are_refused_by_name(wrong):
    with pytest.raises((ValueError, TypeError), match="'metric' parameter must be one of 'euclidean', 'cosine'"):
        kernel(metric=wrong).fit(X)
    with pytest.raises((ValueError, TypeError), match=r"metric\['a'\].* must be one of 'euclidean', 'cosine'"):
        views(metric={"a": wrong}).fit({"a": X, "b": PLAIN})


def test_metrics_of_views_that_are_not_there():
    with pytest.raises(ValueError, match="metric names the view 'c'; the views are 'a', 'b'"):
        views(metric={"c": "cosine"}).fit({"a": X, "b": PLAIN})
    with pytest.raises(ValueError, match="metric has 1 entry, expected 2"):
        views(metric=["cosine"]).fit({"a": X, "b": PLAIN})


def test_a_given_matrix_has_no_rows_to_scale():
    gram = np.exp(-((PLAIN[:, None] - PLAIN) ** 2).sum(axis=2))
    settings = {"feature_map": "exact", "kernel": "precomputed", "metric": "cosine"}
    match = (
        r"metric='cosine' scales rows.*normalise the matrix instead, K\[i, j\] / sqrt\(K\[i, i\] \* K\[j, j\]\)"
    )
    with pytest.raises(ValueError, match=match):
        kernel(**settings).fit(gram)
    by_view = settings | {name: {"a": settings[name]} for name in ("feature_map", "kernel")}
    with pytest.raises(ValueError, match=f"view 'a': {match}"):
        views(**by_view).fit({"a": gram, "b": X})
    views(**by_view | {"metric": {"b": "cosine"}}).fit({"a": gram, "b": X})
