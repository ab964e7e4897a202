"""The same fit by tensors, by PyTorch on rows of NumPy, and by NumPy: the same clusters, and answers to rounding.

Tolerances: in double precision a pass is off by some ``n_rows * eps`` of the cost, 1e-13 here; a fit of some
hundred passes does not enlarge it, so 1e-9 leaves four digits. Distances near zero are roots, which halve the
digits.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from helpers import blobs
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, choose_k, explain_views, open_source
from powerkmeans.compute.engine import open_engine
from powerkmeans.engines import NumpyOptions, TorchOptions
from powerkmeans.protocol import block_sums
from powerkmeans.sources.tensors import TensorSource
from powerkmeans.types import Views

X, _ = blobs(4, 6, 40, 1.0)
WEIGHT = np.random.default_rng(0).uniform(0, 2, len(X))
QUICK = {"anneal_factor": 1.5, "random_state": 0, "advice": False}
MAPS = ["graph", "nystroem", "rff", "identity", "exact"]
ANSWERS = ("predict", "predict_proba", "transform")
SCORES = ("outlier_score", "typicality")


@functools.cache
def by_numpy(feature_map, membership, metric="euclidean"):
    model = KernelPowerKMeans(4, feature_map=feature_map, membership=membership, metric=metric, **QUICK)
    return model.set_params(engine="numpy").fit(X, sample_weight=WEIGHT)


def check_same(found, expected, rows, tensors):
    assert np.array_equal(found.labels_, expected.labels_)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-9, abs=1e-9)
    scores = SCORES if expected._fit.model.scores_outliers else ()
    for answer in (*ANSWERS, *scores):
        told, known = getattr(found, answer)(tensors), getattr(expected, answer)(rows)
        assert type(told) is torch.Tensor
        assert told.numpy().dtype == known.dtype
        np.testing.assert_allclose(told.numpy(), known, rtol=1e-7, atol=1e-7)
    assert found.score(tensors) == pytest.approx(expected.score(rows), rel=1e-9)
    assert np.array_equal(found.medoid_indices(tensors), expected.medoid_indices(rows))


@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
@pytest.mark.parametrize("feature_map", MAPS)
def test_one_view(feature_map, membership):
    expected = by_numpy(feature_map, membership)
    model = KernelPowerKMeans(4, feature_map=feature_map, membership=membership, **QUICK)
    model.fit(torch.from_numpy(X), sample_weight=torch.from_numpy(WEIGHT))
    check_same(model, expected, X, torch.from_numpy(X))
    assert all(type(array) is np.ndarray for array in (model.labels_, model.cluster_centers_))


@pytest.mark.parametrize("feature_map", ["nystroem", "rff"])
def test_directions(feature_map):
    model = KernelPowerKMeans(4, feature_map=feature_map, metric="cosine", **QUICK)
    model.fit(torch.from_numpy(X), sample_weight=WEIGHT)
    check_same(model, by_numpy(feature_map, "fuzzy", "cosine"), X, torch.from_numpy(X))


@pytest.mark.parametrize("feature_map", ["graph", "rff"])
def test_rows_of_numpy_on_a_device_get_answers_of_numpy(feature_map):
    model = KernelPowerKMeans(4, feature_map=feature_map, engine=TorchOptions("cpu"), **QUICK)
    model.fit(X, sample_weight=WEIGHT)
    expected = by_numpy(feature_map, "fuzzy")
    assert np.array_equal(model.labels_, expected.labels_)
    found = model.transform(X)
    assert type(found) is np.ndarray
    np.testing.assert_allclose(found, expected.transform(X), rtol=1e-7, atol=1e-7)


def test_a_model_of_numpy_answers_tensors_and_the_other_way_round():
    expected = by_numpy("rff", "fuzzy")
    assert np.array_equal(expected.predict(torch.from_numpy(X)).numpy(), expected.labels_)
    other = KernelPowerKMeans(4, feature_map="rff", **QUICK).fit(torch.from_numpy(X), sample_weight=WEIGHT)
    assert type(other.predict(X)) is np.ndarray
    single = other.transform(torch.from_numpy(X).float())  # in the precision of the model
    assert single.dtype == torch.float64


def test_single_precision_stays_single():
    rows = X.astype(np.float32)
    expected = KernelPowerKMeans(4, feature_map="nystroem", **QUICK).fit(rows)
    found = KernelPowerKMeans(4, feature_map="nystroem", **QUICK).fit(torch.from_numpy(rows))
    assert np.array_equal(found.labels_, expected.labels_)
    assert found.transform(torch.from_numpy(rows)).dtype == torch.float32
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-5)


def test_fit_predict_and_fit_transform_and_frames(tmp_path):
    rows, model = torch.from_numpy(X), KernelPowerKMeans(4, feature_map="rff", **QUICK)
    labels = model.fit_predict(rows)
    assert torch.equal(labels, torch.from_numpy(model.labels_))
    assert torch.equal(model.fit_transform(rows), model.transform(rows))
    assert isinstance(model.predict(rows, out=tmp_path / "labels.npy"), np.memmap)
    assert type(model.set_output(transform="pandas").transform(rows)).__name__ == "DataFrame"


def make_views():
    views = {"left": X[:, :3].copy(), "right": X[:, 2:].astype(np.float32)}  # of two precisions
    views["left"][::7] = np.nan
    return views, {name: torch.from_numpy(rows) for name, rows in views.items()}


@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
@pytest.mark.parametrize("feature_map", MAPS)
def test_views_that_are_missing(feature_map, membership):
    views, tensors = make_views()
    settings = {"feature_map": feature_map, "membership": membership, **QUICK}
    found, expected = (MultiViewPowerKMeans(4, **settings).fit(given) for given in (tensors, views))
    np.testing.assert_allclose(found.view_weights_, expected.view_weights_, rtol=1e-7)
    close = 1e-7  # a given kernel's rank is decided by rounding
    assert np.array_equal(found.labels_, expected.labels_)
    assert found.objective_ == pytest.approx(expected.objective_, rel=close)
    np.testing.assert_allclose(found.transform(tensors).numpy(), expected.transform(views), rtol=close, atol=close)
    lacking = {"left": None, "right": tensors["right"]}
    assert np.array_equal(found.predict(lacking).numpy(), expected.predict({**lacking, "right": views["right"]}))
    tables = [explain_views(model, given) for model, given in ((found, tensors), (expected, views))]
    for one, other in zip(*(list(table.values())[1:] for table in tables), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_masks_columns_and_kinds_side_by_side():
    views, tensors = make_views()
    expected = MultiViewPowerKMeans(4, feature_map="rff", **QUICK).fit(views)
    mask = torch.from_numpy(np.stack([np.isfinite(views["left"][:, 0]), np.ones(len(X), bool)], axis=1))
    mixed = {"left": tensors["left"].nan_to_num(7.0), "right": views["right"]}
    for present in (mask, {"left": mask[:, 0]}):
        found = MultiViewPowerKMeans(4, feature_map="rff", **QUICK).fit(mixed, present=present)
        assert np.array_equal(found.labels_, expected.labels_)
    cut = {"views": {"a": slice(0, 3), "b": [3, 4, 5]}, "feature_map": "graph", **QUICK}
    found, expected = (MultiViewPowerKMeans(4, **cut).fit(given) for given in (torch.from_numpy(X), X))
    assert np.array_equal(found.predict(torch.from_numpy(X)).numpy(), expected.labels_)


def test_sparse_views_beside_tensors():
    _, tensors = make_views()
    views = {"left": tensors["left"], "sparse": csr_array(np.where(np.abs(X) > 2, X, 0))}
    found = MultiViewPowerKMeans(4, feature_map="graph", **QUICK).fit(views)
    plain = MultiViewPowerKMeans(4, feature_map="graph", **QUICK).fit({**views, "left": tensors["left"].numpy()})
    assert np.array_equal(found.labels_, plain.labels_)


@pytest.mark.parametrize("estimator", [KernelPowerKMeans, MultiViewPowerKMeans])
def test_streams(estimator):
    chunks = np.split(np.concatenate([X] * 12), 6)
    found, expected = (estimator(4, feature_map="rff", **QUICK) for _ in range(2))
    for chunk in chunks:
        found.partial_fit(torch.from_numpy(chunk))
        assert np.array_equal(found.labels_, expected.partial_fit(chunk).labels_)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-9)


@pytest.mark.parametrize("uneven", [False, True])
def test_given_kernels(uneven):
    scale = np.random.default_rng(0).uniform(1, 2, len(X)) if uneven else np.ones(len(X))
    matrix = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2) / 50) * scale * scale[:, None]
    settings = {"feature_map": "exact", "kernel": "precomputed", **QUICK}
    expected = KernelPowerKMeans(4, **settings).fit(matrix)
    for engine, given in (("auto", torch.from_numpy(matrix)), (TorchOptions("cpu"), matrix)):
        found = KernelPowerKMeans(4, engine=engine, **settings).fit(given)
        assert np.array_equal(found.labels_, expected.labels_)
        np.testing.assert_allclose(np.asarray(found.transform(given)), expected.transform(matrix), atol=1e-7)


def test_given_centroids_and_a_named_engine():
    expected = KernelPowerKMeans(4, init=X[:4], feature_map="rff", **QUICK).fit(X)
    found = KernelPowerKMeans(4, init=torch.from_numpy(X[:4]), feature_map="rff", **QUICK)
    assert np.array_equal(found.fit(torch.from_numpy(X)).labels_, expected.labels_)
    named = KernelPowerKMeans(4, init=X[:4], feature_map="rff", engine=NumpyOptions(n_threads=1), **QUICK)
    assert np.array_equal(named.fit_predict(torch.from_numpy(X)).numpy(), expected.labels_)


def test_features_that_are_not_stored_and_files(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    options = TorchOptions("cpu", memory_budget=0)
    found = KernelPowerKMeans(4, feature_map="rff", engine=options, **QUICK).fit(
        open_source(tmp_path / "rows.npy"), sample_weight=WEIGHT
    )
    assert np.array_equal(found.labels_, by_numpy("rff", "fuzzy").labels_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_samples_are_those_of_the_same_rows_of_numpy(dtype):
    rng = np.random.default_rng(0)
    rows = np.round(rng.normal(size=(500, 3)), 1).astype(dtype)
    rows[::9] = -0.0
    present = rng.random((500, 1)) > 0.2
    weight = rng.uniform(0, 1, 500).astype(dtype)
    samples = [
        open_engine("auto", Views(("X",), (given,), weight, present)).sample(60, seed=3)
        for given in (
            rows,
            TensorSource("X", torch.from_numpy(rows)),
            TensorSource("X", torch.from_numpy(rows)).unit(),
        )
    ]
    assert np.array_equal(samples[0].rows, samples[1].rows)
    assert np.array_equal(samples[0].views[0], samples[1].views[0])
    np.testing.assert_allclose(samples[0].weight, samples[1].weight, rtol=1e-12)
    assert np.max(np.abs(np.linalg.norm(samples[2].views[0], axis=1))) == pytest.approx(1, rel=1e-6)


def test_the_number_of_clusters_checkpoints_and_sums_of_blocks(tmp_path):
    rows = torch.from_numpy(X)
    settings = {"feature_map": "rff", "random_state": 0, "anneal_factor": 2.0, "k_max": 5}
    assert choose_k(rows, **settings).k == choose_k(X, **settings).k
    model = KernelPowerKMeans(4, feature_map="rff", **QUICK).fit(rows, checkpoint=tmp_path / "state.npz")
    expected = KernelPowerKMeans(4, feature_map="rff", **QUICK).fit(X)
    assert np.array_equal(model.labels_, expected.labels_)
    np.testing.assert_allclose(block_sums(model, rows).moment, block_sums(expected, X).moment, atol=1e-9)
