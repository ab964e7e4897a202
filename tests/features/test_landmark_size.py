"""How many landmarks ``n_components="auto"`` takes: few clusters get enough, and no fit more than it can bear."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from helpers import quick, quick_views
from powerkmeans import open_source, suggest_n_components
from powerkmeans.engines import NumpyOptions
from powerkmeans.features import size
from powerkmeans.features.map_error import kernel_error
from powerkmeans.features.maps import nystroem
from powerkmeans.features.maps.base import MapRequest
from powerkmeans.features.size import first_landmarks, grown, most_landmarks
from powerkmeans.metrics import clustering_accuracy
from powerkmeans.types import RowSample


def texts(n_rows=600, about=0.3):
    """Words of three topics, of which a share tells the topic: most of the kernel is noise."""
    rng, truth = np.random.default_rng(0), np.arange(n_rows) % 3
    topics, common = rng.dirichlet(np.full(1000, 0.1), 3), rng.dirichlet(np.full(1000, 0.3))
    counts = np.stack([rng.multinomial(40, about * topics[topic] + (1 - about) * common) for topic in truth])
    return counts / np.linalg.norm(counts, axis=1)[:, None], truth


UNCLEAR, TRUTH = texts()
CLEARER, _ = texts(about=0.5)


def fitted(X, n_clusters=3, **settings):
    estimator = quick_views if isinstance(X, dict) else quick
    weight = settings.pop("sample_weight", None)
    model = estimator(n_clusters, feature_map="nystroem", random_state=0, advice=False, **settings)
    return model.fit(X, sample_weight=weight)


@pytest.fixture(scope="module")
def clearer():
    """The model of texts that need more landmarks than the theorem asks for."""
    return fitted(CLEARER)


def test_few_rows_are_all_landmarks_and_many_have_what_the_theorem_asks_for():
    assert first_landmarks(3, 250, 10) >= 250
    assert first_landmarks(3, 2000, 10) == 91
    for n_clusters in (2, 3, 20):
        assert first_landmarks(n_clusters, 10**6, 10) == 2 * suggest_n_components(n_clusters)
    assert first_landmarks(20, 2000, 10) == 2 * suggest_n_components(20)
    assert suggest_n_components(1, eps=0.9, delta=0.9) == 1  # one frequency is the least that is a map
    assert first_landmarks(3, 100, 10**6) == 48  # rows that wide are not copied for nothing


@pytest.mark.parametrize("n_clusters", [2, 5, 30])
def test_bounds_of_work_and_memory(n_clusters):
    for n_rows in (10, 300, 5000, 10**5, 10**8):
        for n_columns in (1, 1000, 10**5, 10**7):
            first, most = (f(n_clusters, n_rows, n_columns) for f in (first_landmarks, most_landmarks))
            assert most >= first >= 2 * suggest_n_components(n_clusters)
            if most > first:
                assert most <= 500
                assert n_rows * most**2 <= 2**31
            if most > 2 * suggest_n_components(n_clusters):
                assert most * n_columns <= 2**23
    assert most_landmarks(3, 1000, 10) == 500
    assert most_landmarks(3, 10**5, 10) == 146


def test_the_size_goes_by_the_error():
    assert grown(48, 0.1, 500) == 240
    assert grown(48, 0.5, 500) == 500
    assert grown(48, 0.02, 500) == grown(48, 0.0, 500) == 48
    assert grown(600, 0.5, 600) == 600


def test_few_clusters_get_as_many_landmarks_as_it_takes(clearer):
    model, few = fitted(UNCLEAR), fitted(UNCLEAR, n_components=48)
    assert few.n_components_ == 48  # what is given is taken
    assert model.n_components_ == 500
    assert clustering_accuracy(TRUTH, few.labels_) < 0.95
    assert clustering_accuracy(TRUTH, model.labels_) > 0.98
    assert first_landmarks(3, 600, 1000) < clearer.n_components_ < 500
    assert fitted(UNCLEAR, 40).n_components_ == min(600, 2 * suggest_n_components(40))


def test_fewer_landmarks_are_some_of_more(clearer):
    (many,), (few,) = (m._fit.model.maps for m in (clearer, fitted(CLEARER, n_components=48)))
    assert {row.tobytes() for row in few.base.landmarks} < {row.tobytes() for row in many.base.landmarks}


def test_clear_clusters_are_left_at_the_first_size():
    X = np.random.default_rng(0).normal(size=(1000, 2)) + 8 * np.eye(3, 2)[np.arange(1000) % 3]
    assert fitted(X).n_components_ == first_landmarks(3, 1000, 2) == 129


def test_neither_order_nor_how_repetition_is_written_matters(clearer):
    order, count = np.random.default_rng(1).permutation(600), 1 + np.arange(600) % 3
    turned = fitted(CLEARER[order])
    assert turned.n_components_ == clearer.n_components_
    assert np.array_equal(turned.labels_, clearer.labels_[order])
    weighted = fitted(CLEARER, sample_weight=count)
    repeated = fitted(np.repeat(CLEARER, count, axis=0))
    assert first_landmarks(3, 600, 1000) < weighted.n_components_ == repeated.n_components_ < 500
    assert np.array_equal(np.repeat(weighted.labels_, count), repeated.labels_)


def test_the_same_for_threads_sparse_rows_files_and_budgets(tmp_path, clearer):
    np.save(tmp_path / "rows.npy", CLEARER)
    for engine in (NumpyOptions(n_threads=1), NumpyOptions(n_threads=3), NumpyOptions(memory_budget=2**20)):
        assert np.array_equal(fitted(CLEARER, engine=engine).labels_, clearer.labels_)
    source = open_source(tmp_path / "rows.npy")
    assert np.array_equal(fitted(source).cluster_centers_, clearer.cluster_centers_)
    assert fitted(sparse.csr_array(CLEARER)).n_components_ == clearer.n_components_


def test_every_view_has_a_size_of_its_own():
    views = {"texts": UNCLEAR, "blobs": np.eye(3, 2)[TRUTH] * 8 + np.random.default_rng(0).normal(size=(600, 2))}
    model = fitted(views)
    assert model.n_components_.tolist() == [500, first_landmarks(3, 600, 2)]
    model = fitted(views | {"flags": (TRUTH == 0).astype(float)[:, None]})
    assert model.n_components_.tolist() == [500, first_landmarks(3, 600, 2), 2]


def test_a_row_beyond_float64_says_nothing_of_the_size():
    X = np.random.default_rng(0).normal(size=(400, 3))
    base = nystroem.make_nystroem(np.zeros(3), X[:50], "rbf", 1.0)
    rows = np.vstack([X, np.full((1, 3), 1e200)])
    sample = RowSample((rows,), np.r_[np.ones(400), 100.0], n_distinct=401)
    request = MapRequest(sample, "rbf", 1.0, 48, rows.dtype, 3, "X", rows, sample.weight, 3, automatic=True)
    assert nystroem._error(request, base) == 0.0
    assert nystroem._error(replace(request, sample=RowSample((X,), np.ones(400), n_distinct=400)), base) > 0.0


def test_no_error_where_one_row_has_all_the_weight():
    gram, share = np.eye(64), np.zeros(64)
    share[3] = 1.0
    assert kernel_error(gram, gram, share, 3) == (0.0, 0.0)


def test_memory_is_refused_by_the_most_that_may_be_taken(monkeypatch):
    monkeypatch.setattr(size, "SPARE_BYTES", 0)
    monkeypatch.setattr(size, "available_memory", lambda: 6 * 2**20)  # 500 landmarks take more, 167 less
    with pytest.raises(ValueError, match="n_components is too large"):
        fitted(CLEARER)
    assert fitted(CLEARER, n_components=167).n_components_ == 167


def test_it_is_told_how_many_and_why(capsys, clearer):
    fitted(CLEARER, verbose=1)
    err = capsys.readouterr().err
    assert f"{clearer.n_components_} landmarks" in err
    assert "n_components='auto': at least 48 landmarks, the outputs of ceil(4 log(2k)^3) = 24 for k=3" in err
    assert "more where rows are few or these lose more than 2% of what the clusters can show" in err
