"""What must not change a fit to a graph of landmarks."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.metrics import adjusted_rand_score

import powerkmeans
from helpers import blobs
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, open_source
from powerkmeans.engines import NumpyOptions

X, Y = blobs(spread=1.0)
MOONS, HALF = make_moons(240, noise=0.06, random_state=0)
ANSWERS = ("predict", "predict_proba", "transform", "outlier_score")


def fitted(rows, k=3, weight=None, **parameters):
    parameters = {"feature_map": "graph", "random_state": 0, "anneal_factor": 1.3, **parameters}
    return KernelPowerKMeans(k, **parameters).fit(rows, sample_weight=weight)


def several(views, k=3, weight=None, **parameters):
    parameters = {"feature_map": "graph", "random_state": 0, "anneal_factor": 1.3, **parameters}
    return MultiViewPowerKMeans(k, **parameters).fit(views, sample_weight=weight)


@cache
def of_blobs():
    return fitted(X)


@cache
def of_moons():
    return fitted(MOONS, 2)


@cache
def of_views():
    return several(views_of())


def views_of(rows=X):
    views = {"left": rows[:, :3].copy(), "right": rows[:, 2:].copy()}
    views["left"][::7] = np.nan
    return views | {"noise": np.random.default_rng(1).normal(size=(len(rows), 2))}


def same(a, b):
    return adjusted_rand_score(a, b) == 1.0


def test_order_of_rows():
    order = np.random.default_rng(0).permutation(len(MOONS))
    a, b = (fitted(rows, 2, n_components=100, advice=False) for rows in (MOONS, MOONS[order]))
    assert np.array_equal(a.labels_[order], b.labels_)
    assert b.cluster_centers_ == pytest.approx(a.cluster_centers_, abs=1e-8)
    assert b.outlier_score(MOONS) == pytest.approx(a.outlier_score(MOONS), abs=1e-9)


def test_order_of_rows_and_views_with_missing_ones():
    order = np.random.default_rng(0).permutation(len(X))
    views = views_of()
    a = of_views()
    b = several({name: views[name][order] for name in reversed(views)})
    assert np.array_equal(a.labels_[order], b.labels_)
    assert b.view_weights_[::-1] == pytest.approx(a.view_weights_, abs=1e-9)
    renamed = several({f"{9 - i}": view for i, view in enumerate(views.values())})
    assert same(a.labels_, renamed.labels_)
    assert renamed.view_weights_ == pytest.approx(a.view_weights_, abs=0.05)


def test_weights_equal_repetition():
    weight = np.random.default_rng(1).integers(0, 4, len(MOONS))
    a = fitted(MOONS, 2, weight, n_components=60, advice=False)
    b = fitted(np.repeat(MOONS, weight, axis=0), 2, n_components=60, advice=False)
    assert np.array_equal(np.repeat(a.labels_, weight), b.labels_)
    assert a.transform(MOONS) == pytest.approx(b.transform(MOONS), abs=1e-7)
    assert a.outlier_score(MOONS) == pytest.approx(b.outlier_score(MOONS), abs=1e-7)


def test_weights_equal_repetition_in_several_views():
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    views = views_of()
    a = several(views, weight=weight)
    b = several({name: np.repeat(view, weight, axis=0) for name, view in views.items()})
    assert np.array_equal(np.repeat(a.labels_, weight), b.labels_)
    assert a.view_weights_ == pytest.approx(b.view_weights_, abs=1e-9)


@pytest.mark.parametrize("kernel", ["compiled", "numpy"])
def test_same_bits_by_any_number_of_threads(kernel):
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(3000, 3)), rng.normal(5, 1, (3000, 3))])
    one, *others = (
        fitted(rows, 2, n_components=80, engine=NumpyOptions(n_threads=n, kernel=kernel)) for n in (1, 2, 4)
    )
    for other in others:
        assert np.array_equal(one.labels_, other.labels_)
        assert np.array_equal(one.cluster_centers_, other.cluster_centers_)
        assert one.objective_ == other.objective_


def test_both_precisions():
    assert same(of_blobs().labels_, fitted(X.astype(np.float32)).labels_)
    moons = MOONS.astype(np.float32)
    model = fitted(moons, 2)
    assert adjusted_rand_score(model.labels_, HALF) == 1.0
    assert model.transform(moons).dtype == np.float32
    assert np.array_equal(model.predict(moons), model.labels_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_from_the_origin(dtype):
    assert adjusted_rand_score(fitted((MOONS + 1000).astype(dtype), 2).labels_, HALF) == 1.0


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_extreme_scales(scale):
    rows = X * scale
    model = fitted(rows)
    assert same(model.labels_, Y)
    assert all(np.all(np.isfinite(getattr(model, answer)(rows))) for answer in ANSWERS)
    single = {"left": rows[:, :3].astype(np.float32), "right": X[:, 2:].astype(np.float32)}
    model = several(single)
    assert same(model.labels_, Y)
    assert model.view_weights_ == pytest.approx(0.5, abs=0.1)


def test_files_larger_than_a_block(tmp_path):
    np.save(tmp_path / "moons.npy", MOONS)
    held = of_moons()
    read = fitted(open_source(tmp_path / "moons.npy"), 2, engine=NumpyOptions(memory_budget=2**12))
    assert np.array_equal(read.labels_, held.labels_)
    assert np.array_equal(read.predict(open_source(tmp_path / "moons.npy")), held.labels_)


def test_files_of_several_views(tmp_path):
    left, right = X[:, :3], X[:, 2:]
    np.save(tmp_path / "left.npy", left)
    held = several({"left": left, "right": right})
    read = several(
        {"left": open_source(tmp_path / "left.npy"), "right": right}, engine=NumpyOptions(memory_budget=2**12)
    )
    assert np.array_equal(read.labels_, held.labels_)
    assert read.view_weights_ == pytest.approx(held.view_weights_)


@pytest.mark.parametrize("missing", [False, True])
def test_features_that_are_mapped_in_every_pass(missing):
    stored, fit, rows = (of_views(), several, views_of()) if missing else (of_blobs(), fitted, X)
    mapped = fit(rows, engine=NumpyOptions(memory_budget=0))
    assert same(stored.labels_, mapped.labels_)  # clusters of one size are numbered by rounding
    assert mapped.objective_ == pytest.approx(stored.objective_, rel=1e-9)


def test_sparse_rows():
    rows = np.where(np.abs(X) > 1, X, 0)
    dense, sparse = fitted(rows), fitted(csr_array(rows))
    assert same(dense.labels_, sparse.labels_)
    for form in (rows, csr_array(rows)):
        assert np.array_equal(sparse.predict(form), sparse.labels_)
        assert np.array_equal(dense.predict(form), dense.labels_)
        assert sparse.outlier_score(form) == pytest.approx(dense.outlier_score(rows), abs=1e-9)


def test_sparse_rows_far_from_the_origin():
    assert adjusted_rand_score(fitted(csr_array(MOONS + 100), 2, advice=False).labels_, HALF) == 1.0


def test_sparse_views_beside_dense_ones():
    rows = np.where(np.abs(X) > 1, X, 0)
    dense, mixed = (several({"a": form(rows[:, :3]), "b": X[:, 2:]}) for form in (np.asarray, csr_array))
    assert same(dense.labels_, mixed.labels_)
    assert mixed.view_weights_ == pytest.approx(dense.view_weights_)


@pytest.mark.parametrize("form", ["dense", "sparse", "views"])
def test_what_is_saved_pickled_or_cloned(form, tmp_path):
    rows = {"dense": X, "sparse": csr_array(np.where(np.abs(X) > 1, X, 0)), "views": views_of()}[form]
    model = {"dense": of_blobs, "views": of_views}.get(form, lambda: fitted(rows))()
    model.save(tmp_path / "model.npz")
    for other in (powerkmeans.load(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))):
        assert all(np.array_equal(getattr(model, one)(rows), getattr(other, one)(rows)) for one in ANSWERS)
        assert np.array_equal(other.view_weights_, model.view_weights_)
    assert np.array_equal(clone(model).fit(rows).labels_, model.labels_)


def test_streams():
    order = np.random.default_rng(0).permutation(len(X))
    model = KernelPowerKMeans(3, feature_map="graph", anneal_factor=1.3, random_state=0)
    for chunk in np.split(order, 6):
        model.partial_fit(X[chunk])
    assert same(model.predict(X), Y)
    model = fitted(X[order[:60]]).partial_fit(X[order[60:]])
    assert same(model.predict(X), Y)
    assert model.n_samples_seen_ == len(X)
    begun = MultiViewPowerKMeans(3, feature_map="graph", random_state=0)
    for chunk in np.split(order, 3):
        begun.partial_fit({name: view[chunk] for name, view in views_of().items()})
    assert same(begun.predict(views_of()), Y)


def test_labels_are_what_is_predicted_and_answers_are_finite():
    digits = load_digits().data[:500]
    for model, rows in ((fitted(digits, 10), digits), (of_moons(), MOONS), (of_views(), views_of())):
        assert np.array_equal(model.predict(rows), model.labels_)
        assert all(np.all(np.isfinite(getattr(model, answer)(rows))) for answer in ANSWERS)
        assert np.sum(model.predict_proba(rows), axis=1) == pytest.approx(1)


def test_rows_that_the_fit_did_not_have():
    digits, _ = load_digits(return_X_y=True)
    for rows, k, least in ((MOONS, 2, 0.95), (digits, 10, 0.8)):
        all_rows, half = (fitted(part, k, advice=False) for part in (rows, rows[::2]))
        assert adjusted_rand_score(all_rows.labels_[1::2], half.predict(rows[1::2])) > least
