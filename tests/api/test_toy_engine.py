"""A new engine is one module and one line in a registry: the public estimators take it, the source unchanged."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import toy_engine
from helpers import blobs
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, explain_views, open_source
from powerkmeans.compute.options import ENGINES
from powerkmeans.compute.rows import RowEngine
from powerkmeans.engines import NumpyOptions
from powerkmeans.features.maps.identity import IdentityMap
from powerkmeans.objective.linearised import scatter_sums
from powerkmeans.types import Views


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(ENGINES, toy_engine.StrictOptions, toy_engine.Strict)
    monkeypatch.setitem(ENGINES, toy_engine.ElsewhereOptions, toy_engine.Elsewhere)


X, _ = blobs(4, 6, 80, 1.5)
MAPS = ["nystroem", "rff", "orf", "identity", "exact"]


def both(make, data, **fit):
    """The same fit by the toy engine and by NumPy."""
    engines = (toy_engine.StrictOptions(), "numpy")
    return [make(engine=engine).set_params(anneal_factor=1.5).fit(data, **fit) for engine in engines]


@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
@pytest.mark.parametrize("feature_map", MAPS)
def test_a_fit_of_one_view_and_its_answers(feature_map, membership):
    weight = np.random.default_rng(0).uniform(0, 2, len(X))
    toy, numpy = both(
        lambda **engine: KernelPowerKMeans(
            4, feature_map=feature_map, membership=membership, random_state=0, **engine
        ),
        X,
        sample_weight=weight,
    )
    assert np.array_equal(toy.labels_, numpy.labels_)
    assert toy.objective_ == pytest.approx(numpy.objective_, rel=1e-9)
    scores = ("outlier_score", "typicality") if membership == "possibilistic" else ()
    for answer in ("predict", "predict_proba", "transform", *scores):
        found, expected = (getattr(model, answer)(X) for model in (toy, numpy))
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    assert toy.score(X) == pytest.approx(numpy.score(X), rel=1e-9)
    assert np.array_equal(
        toy.medoid_indices(X, sample_weight=weight), numpy.medoid_indices(X, sample_weight=weight)
    )
    np.testing.assert_allclose(toy.cluster_means(X), numpy.cluster_means(X))


@pytest.mark.parametrize("feature_map", ["nystroem", "identity"])
def test_views_that_are_missing_and_weights_of_views(feature_map):
    views = {"left": X[:, :3].copy(), "right": X[:, 2:].copy()}
    views["left"][::7] = np.nan
    toy, numpy = both(
        lambda **engine: MultiViewPowerKMeans(4, feature_map=feature_map, random_state=0, **engine), views
    )
    assert np.array_equal(toy.labels_, numpy.labels_)
    np.testing.assert_allclose(toy.view_weights_, numpy.view_weights_, rtol=1e-9)
    np.testing.assert_allclose(toy.outlier_score(views), numpy.outlier_score(views), rtol=1e-7)
    tables = [explain_views(model, views) for model in (toy, numpy)]
    for found, expected in zip(*(list(table.values())[1:] for table in tables), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_features_that_are_not_stored_single_precision_files_and_answers_in_files(tmp_path):
    rows = X.astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    options = toy_engine.StrictOptions(memory_budget=0)
    settings = {"feature_map": "nystroem", "anneal_factor": 1.5, "random_state": 0}
    toy = KernelPowerKMeans(4, engine=options, **settings).fit(open_source(tmp_path / "rows.npy"))
    numpy = KernelPowerKMeans(4, engine="numpy", **settings).fit(rows)
    assert np.array_equal(toy.labels_, numpy.labels_)
    written = toy.predict(rows, out=tmp_path / "labels.npy")
    assert np.array_equal(written, numpy.labels_)


@pytest.mark.parametrize("feature_map", ["nystroem", "rff", "identity"])
def test_sparse_rows_which_the_library_lacks(feature_map):
    rows = csr_array(np.where(np.abs(X) > 1, X, 0))
    toy, numpy = both(
        lambda **engine: KernelPowerKMeans(4, feature_map=feature_map, random_state=0, **engine), rows
    )
    assert np.array_equal(toy.labels_, numpy.labels_)
    assert toy.objective_ == pytest.approx(numpy.objective_, rel=1e-9)
    assert np.array_equal(toy.predict(rows), numpy.predict(rows))


@pytest.mark.parametrize(("budget", "kernel"), [(0, "auto"), (2**31, "auto"), (2**31, "numpy")])
@pytest.mark.parametrize("feature_map", MAPS)
def test_functions_and_blocks_can_be_sent_to_other_processes(feature_map, budget, kernel):
    options = toy_engine.ElsewhereOptions(budget, kernel)
    sent, local = (
        KernelPowerKMeans(4, feature_map=feature_map, membership="possibilistic", engine=engine, random_state=0)
        .set_params(anneal_factor=1.5).fit(X)
        for engine in (options, NumpyOptions(memory_budget=budget, kernel=kernel))
    )  # fmt: skip
    assert np.array_equal(sent.labels_, local.labels_)
    assert sent.objective_ == pytest.approx(local.objective_, rel=1e-12)
    assert np.array_equal(sent.predict(X, noise_threshold=0.5), local.predict(X, noise_threshold=0.5))
    for answer in ("predict_proba", "transform", "outlier_score"):
        np.testing.assert_allclose(getattr(sent, answer)(X), getattr(local, answer)(X), rtol=1e-12)


def test_sums_come_back_once_per_pass():
    class Counting(toy_engine.Strict):
        fetched = 0

        def fetch(self, result):
            self.fetched += 1
            return super().fetch(result)

    executor = Counting(toy_engine.StrictOptions())
    views = Views(("X",), (np.repeat(X, 200, axis=0),), np.ones(200 * len(X)))
    engine = RowEngine(views, toy_engine.StrictOptions(), executor)
    assert len(engine.raw_blocks) > 1
    sums = engine.with_features((IdentityMap(6),), keep=True).fold(scatter_sums, None)
    assert executor.fetched == 1
    assert type(sums.total) is np.ndarray


def test_a_stream_goes_on_there():
    chunks = np.split(np.concatenate([X] * 6), 6)  # the first four are collected
    settings = {"feature_map": "nystroem", "anneal_factor": 1.5, "random_state": 0}
    toy, numpy = (KernelPowerKMeans(4, engine=e, **settings) for e in (toy_engine.StrictOptions(), "numpy"))
    for chunk in chunks:
        assert np.array_equal(toy.partial_fit(chunk).labels_, numpy.partial_fit(chunk).labels_)
    assert toy.objective_ == pytest.approx(numpy.objective_, rel=1e-9)


GRAPH = {"feature_map": "graph", "anneal_factor": 1.5, "random_state": 0, "advice": False}


def views_of_graph(sparse):
    rows = X[::4]
    views = {"left": rows[:, :3].copy(), "right": rows[:, 2:].copy()}
    views["left"][::7] = np.nan
    return views | ({"more": csr_array(np.where(np.abs(rows) > 2, rows, 0))} if sparse else {})


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
def test_a_graph_of_several_views(membership, sparse):
    views = views_of_graph(sparse)
    toy, numpy = both(lambda **engine: MultiViewPowerKMeans(4, membership=membership, **GRAPH, **engine), views)
    assert np.array_equal(toy.labels_, numpy.labels_)
    np.testing.assert_allclose(toy.view_weights_, numpy.view_weights_, rtol=1e-9)
    for answer in ("predict", "predict_proba", "transform", "outlier_score", "typicality"):
        np.testing.assert_allclose(
            getattr(toy, answer)(views), getattr(numpy, answer)(views), rtol=1e-7, atol=1e-9
        )
    tables = [explain_views(model, views) for model in (toy, numpy)]
    for found, expected in zip(*(list(table.values())[1:] for table in tables), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    "rows", [X[::4], csr_array(np.where(np.abs(X[::4]) > 1, X[::4], 0))], ids=["dense", "sparse"]
)
def test_a_graph_of_one_view(rows):
    weight = np.random.default_rng(0).uniform(0, 2, rows.shape[0])
    toy, numpy = both(lambda **engine: KernelPowerKMeans(4, **GRAPH, **engine), rows, sample_weight=weight)
    assert np.array_equal(toy.labels_, numpy.labels_)
    assert toy.objective_ == pytest.approx(numpy.objective_, rel=1e-9)
    np.testing.assert_allclose(toy.outlier_score(rows), numpy.outlier_score(rows), rtol=1e-7)
    assert toy.score(rows) == pytest.approx(numpy.score(rows), rel=1e-9)


@pytest.mark.parametrize("budget", [0, 2**31])
def test_a_graph_can_be_built_by_other_processes(budget):
    views = views_of_graph(sparse=False)
    sent, local = (
        MultiViewPowerKMeans(4, engine=engine, **GRAPH).fit(views)
        for engine in (toy_engine.ElsewhereOptions(budget), NumpyOptions(memory_budget=budget))
    )
    assert np.array_equal(sent.labels_, local.labels_)
    for answer in ("transform", "outlier_score"):
        np.testing.assert_allclose(
            getattr(sent, answer)(views), getattr(local, answer)(views), rtol=1e-9, atol=1e-12
        )
    assert np.array_equal(explain_views(sent, views)["explained"], explain_views(local, views)["explained"])


def test_engines_that_nobody_registered_are_an_error():
    class Unknown(toy_engine.StrictOptions):
        pass

    available = r"this version has 'auto'.*powerkmeans\.engines\.NumpyOptions\(.*toy_engine\.StrictOptions\(memory"
    with pytest.raises(ValueError, match=available):
        KernelPowerKMeans(4, engine=Unknown()).fit(X)
