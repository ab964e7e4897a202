"""Streams: the running sums are those of their definition, and end where all rows at once do."""

from __future__ import annotations

import copy
import functools
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import powerkmeans
from helpers import blobs
from oracle import online_step
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, open_source
from powerkmeans.estimators import chunks
from powerkmeans.models.answers import model_statistics
from powerkmeans.models.model import StreamLine, StreamLines
from powerkmeans.models.online import _drift, mixing_weight, rows_to_begin

X, Y = blobs(6, 8, 500, 2.0)
X = X[np.random.default_rng(0).permutation(len(X))]
# annealing takes most of the time of the first chunks, and how fine its steps are does not matter here
kernel, several = (functools.partial(cls, anneal_factor=1.5) for cls in (KernelPowerKMeans, MultiViewPowerKMeans))


def epochs(model, rows, size, n_epochs=3, seed=0, **extra):
    rng = np.random.default_rng(seed)
    for _ in range(n_epochs):
        order = rng.permutation(len(rows))
        for start in range(0, len(rows), size):
            model.partial_fit(rows[order[start : start + size]], **extra)
    return model


def hard_cost(model, rows):
    return float(np.sum(np.min(model.transform(rows), axis=1) ** 2))


@functools.cache
def fitted_at_once(n_rows, membership, feature_map):
    parameters = {"membership": membership, "feature_map": feature_map, "bandwidth": 10.0, "random_state": 0}
    return kernel(6, **parameters).fit(X[:n_rows])


@pytest.mark.parametrize("size", [7, 100, 2500])
@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
@pytest.mark.parametrize("feature_map", ["identity", "rff"])
def test_a_few_epochs_end_within_a_hundredth_of_the_batch_objective(size, membership, feature_map):
    rows = X[: 150 * size]  # all but for the smallest chunks
    batch = fitted_at_once(len(rows), membership, feature_map)
    stream = epochs(clone(batch), rows, size)
    # the maps were drawn from other rows, so costs are compared where they are the same thing
    if feature_map == "identity":
        assert hard_cost(stream, rows) <= 1.01 * hard_cost(batch, rows)
    agreement = np.mean([np.max(np.bincount(stream.predict(rows)[batch.labels_ == j])) for j in range(6)])
    assert agreement > 0.97 * len(rows) / 6
    assert stream.n_samples_seen_ == 3 * len(rows)


@pytest.mark.parametrize("size", [20, 500])
@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
def test_the_objective_at_a_given_exponent_is_that_of_the_batch(size, membership):
    parameters = {"membership": membership, "feature_map": "identity", "reference_distance": 20.0}
    parameters |= {"s_init": -5.0, "anneal_factor": 1.0, "init": X[[0, 1, 4, 5, 8, 9]], "random_state": 0}
    batch = kernel(6, **parameters).fit(X)
    stream = epochs(kernel(6, **parameters), X, size)
    assert stream.s_ == batch.s_ == -5.0
    losses = [model_statistics(model._fit.model, model._new(X), "auto").loss / len(X) for model in (stream, batch)]
    assert losses[0] <= 1.01 * losses[1]
    assert stream.objective_ / stream._fit.stream.weight == pytest.approx(losses[1], rel=0.02)


@pytest.mark.filterwarnings("ignore::powerkmeans.exceptions.DataGuidanceWarning")  # a view of noise
def test_several_views_with_rows_missing_from_some():
    rng = np.random.default_rng(1)
    views = {"a": X[:, :4].copy(), "b": X[:, 4:].copy(), "noise": rng.normal(size=(len(X), 3))}
    views["b"][rng.random(len(X)) < 0.2] = np.nan
    batch = several(6, feature_map="rff", random_state=0).fit(views)  # landmarks: of the first chunk
    stream = several(6, feature_map="rff", random_state=0)
    for _ in range(3):
        order = rng.permutation(len(X))
        for start in range(0, len(X), 200):
            stream.partial_fit({name: view[order[start : start + 200]] for name, view in views.items()})
    assert stream.view_weights_ == pytest.approx(batch.view_weights_, abs=0.1)
    # scores are taken at ``s_``, which is that of the first rows here and that of all there; distances compare
    costs = [np.mean(np.min(model.transform(views), axis=1) ** 2) for model in (stream, batch)]
    assert costs[0] <= 1.02 * costs[1]


def test_one_step_is_that_of_the_paper_text():
    model = kernel(3, feature_map="identity", s_init=-4.0, random_state=0).fit(X[:300])
    means = model._fit.model.maps[0].mean
    before, stream = model.cluster_centers_.copy() - means, model._fit.stream
    expected = online_step(
        chunk=(X[300:420] - means).tolist(),
        centers=before.tolist(),
        s=model.s_,
        running_mass=stream.sums.mass[:, 0].tolist(),
        running_moment=stream.sums.moment.tolist(),
        weight_of_running=300.0,
        rho=mixing_weight(300, 120, 3),
    )
    model.partial_fit(X[300:420])
    assert np.allclose(model.cluster_centers_ - means, expected, rtol=1e-9, atol=1e-9)


@given(
    st.floats(1, 1e7),
    st.lists(st.floats(0.5, 1e5), min_size=1, max_size=8),
    st.integers(1, 200),
)
def test_how_rows_are_cut_into_chunks_does_not_matter(seen, sizes, n_clusters):
    kept, at = 1.0, seen
    for size in sizes:
        kept *= 1 - mixing_weight(at, size, n_clusters)
        at += size
    assert kept == pytest.approx(1 - mixing_weight(seen, sum(sizes), n_clusters), abs=1e-9)
    assert 0 <= mixing_weight(seen, sizes[0], n_clusters) <= 1


@settings(deadline=None, max_examples=10)
@given(st.integers(1, 40))
def test_chunks_of_any_size_give_answers_as_soon_as_they_can(size):
    model = kernel(3, feature_map="nystroem", random_state=0)
    for start in range(0, 120, size):
        chunk = X[start : start + size]
        assert model.partial_fit(chunk) is model
        seen = min(start + size, 120)
        if seen >= 6:  # by then they have doubled
            assert set(model.predict(chunk)) <= {0, 1, 2}
        if seen < 3:
            with pytest.raises(NotFittedError):
                model.predict(chunk)


def test_the_beginning_is_a_fit_to_the_rows_so_far():
    n = rows_to_begin(4)
    model = kernel(4, random_state=0)
    for start in range(0, n, 100):
        model.partial_fit(X[start : min(start + 100, n)])
    assert np.array_equal(model.labels_, kernel(4, random_state=0).fit(X[:n]).labels_)
    assert len(model.stream_history_["drift"]) == 0
    model.partial_fit(X[n : n + 50])
    assert len(model.labels_) == 50
    assert len(model.stream_history_["drift"]) == 1


def test_drift_is_reported():
    model = kernel(6, feature_map="identity", random_state=0).fit(X[:2000])
    assert model.drift_ == 0.0
    model.partial_fit(X[2000:])
    assert abs(model.drift_) < 0.1
    model.partial_fit(X[2000:] + 6.0)
    assert model.drift_ > 1
    for _ in range(60):
        model.partial_fit(X[2000:] + 6.0)
    assert abs(model.drift_) < 0.3
    history = model.stream_history_
    assert history["n_seen"].tolist() == [3000 + 1000 * i for i in range(62)]
    assert np.argmax(history["drift"]) == 1
    assert history["shift"][1] > 5 * history["shift"][0]


def test_a_stream_goes_on_from_a_fit_and_fit_begins_anew():
    model = kernel(6, feature_map="nystroem", random_state=0).fit(X)
    before = model.inertia_
    model.partial_fit(X[:100])
    assert model.inertia_ == pytest.approx(before, rel=0.05)
    assert model.n_samples_seen_ == len(X) + 100
    model.fit(X)
    assert model.inertia_ == before
    assert model.n_samples_seen_ == len(X)
    assert len(model.stream_history_["loss"]) == 0


def test_weights_equal_repetition():
    weight = np.random.default_rng(0).integers(1, 4, 200).astype(float)
    weighted, repeated = (kernel(6, feature_map="nystroem", random_state=0).fit(X) for _ in range(2))
    weighted.partial_fit(X[:200], sample_weight=weight)
    repeated.partial_fit(np.repeat(X[:200], weight.astype(int), axis=0))
    assert np.allclose(weighted.cluster_centers_, repeated.cluster_centers_, rtol=1e-10, atol=1e-12)


def test_rows_of_every_engine_are_learnt_alike():
    models = [kernel(6, feature_map="nystroem", random_state=0, engine=e).fit(X[:1500]) for e in ("numpy", "auto")]
    for model in models:
        for start in range(1500, 3000, 250):
            model.partial_fit(X[start : start + 250])
    assert np.allclose(models[0].cluster_centers_, models[1].cluster_centers_, rtol=1e-8, atol=1e-10)


def test_a_beginning_that_says_nothing_is_waited_through():
    model = kernel(2, feature_map="nystroem", random_state=0)
    for _ in range(5):
        model.partial_fit(np.zeros((4, 8)))
    with pytest.raises(NotFittedError):
        model.predict(X[:3])
    model.partial_fit(X[:500]).partial_fit(X[500:1200])
    assert len(np.unique(model.predict(X))) == 2
    constant = kernel(2, feature_map="nystroem", random_state=0)
    with pytest.raises(ValueError, match="All rows are equal"):
        constant.partial_fit(np.zeros((rows_to_begin(2), 8)))


def test_rows_that_cannot_be_fitted_leave_the_model_of_those_before():
    model = kernel(2, feature_map="identity", random_state=0).partial_fit(X[:10])
    labels = model.predict(X[:50])
    model.partial_fit(np.full((10, 8), 1e200))  # squared distances overflow
    assert model.n_samples_seen_ == 20
    assert np.array_equal(model.predict(X[:50]), labels)


def test_chunks_must_be_of_one_make(tmp_path):
    for first in (X[:2], X):  # collecting, learning
        model = kernel(3, feature_map="nystroem", random_state=0).partial_fit(first)
        with pytest.raises(ValueError, match="X has 7 features, but KernelPowerKMeans is expecting 8 features"):
            model.partial_fit(X[:5, :7])
        assert model.n_features_in_ == 8
        with pytest.raises(ValueError, match="NaN"):
            model.partial_fit(np.full((2, 8), np.nan))
        with pytest.raises(ValueError, match="0 sample"):
            model.partial_fit(X[:0])
        model.partial_fit(X[:5])
    views = several(3).partial_fit({"a": X[:2, :3], "b": X[:2, 3:]})
    with pytest.raises(ValueError, match=r"This chunk has the views 'a' \(2 columns\), 'b'.* began with 'a' \(3"):
        views.partial_fit({"a": X[:2, :2], "b": X[:2, 3:]})
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(TypeError, match=r"for rows in source\.blocks"):
        kernel(3).partial_fit(open_source(tmp_path / "rows.npy"))
    with pytest.raises(ValueError, match=r"s_init=5\.0 must be negative"):
        kernel(3, s_init=5.0).partial_fit(X[:2])


def test_a_file_is_streamed_by_its_blocks(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    model = kernel(6, random_state=0)
    for rows in open_source(tmp_path / "rows.npy").blocks(450):
        model.partial_fit(rows)
    assert model.n_samples_seen_ == len(X)


def chunks_of(kind):
    """A stream in small chunks, of one view or several, dense or sparse, whole or with rows missing."""
    rng = np.random.default_rng(3)
    if kind == "views":
        views = {"a": X[:, :4].copy(), "b": X[:, 4:].copy()}
        views["b"][rng.random(len(X)) < 0.2] = np.nan
        return [{name: view[i : i + 9] for name, view in views.items()} for i in range(0, 1200, 9)]
    rows = X.astype(np.float32) if kind == "float32" else X
    rows = csr_array(np.where(np.abs(X) > 2, X, 0)) if kind == "sparse" else rows
    return [rows[i : i + 9] for i in range(0, 1200, 9)]


@pytest.mark.filterwarnings("ignore")  # of few rows
@pytest.mark.parametrize("kind", ["dense", "float32", "sparse", "views"])
@pytest.mark.parametrize("n_before", [5, 8, 120])  # after an early fit, further on, and after the beginning
def test_a_stream_goes_on_from_a_file_as_if_it_had_not_been_saved(tmp_path, kind, n_before):
    stream = chunks_of(kind)
    cls = several if kind == "views" else kernel
    model = cls(6, feature_map="rff", n_components=20, random_state=0)
    for chunk in stream[:n_before]:
        model.partial_fit(chunk)
    model.save(tmp_path / "model.npz")
    loaded = powerkmeans.load(tmp_path / "model.npz")
    assert loaded.n_samples_seen_ == model.n_samples_seen_ == 9 * n_before
    for chunk in stream[n_before : n_before + 14]:
        model.partial_fit(chunk)
        loaded.partial_fit(chunk)
        assert loaded.n_samples_seen_ == model.n_samples_seen_
    assert np.array_equal(loaded.transform(stream[0]), model.transform(stream[0]))
    assert np.array_equal(loaded.labels_, model.labels_)
    assert loaded.objective_ == model.objective_


def test_rows_that_give_no_model_yet_cannot_be_saved(tmp_path):
    model = kernel(5, feature_map="nystroem", random_state=0).partial_fit(X[:3])
    with pytest.raises(NotFittedError, match="The 3 rows that partial_fit has collected give no model yet"):
        model.save(tmp_path / "model.npz")
    assert model.n_samples_seen_ == 3
    assert not list(tmp_path.iterdir())


def test_all_rows_are_counted():
    model = kernel(3, feature_map="nystroem", random_state=0)
    for start in range(0, 50, 5):
        assert model.partial_fit(X[start : start + 5]).n_samples_seen_ == start + 5
    model = kernel(3, feature_map="nystroem", random_state=0).fit(X[:1200], sample_weight=np.full(1200, 2.0))
    model.partial_fit(X[:10], sample_weight=np.full(10, 0.5))
    assert model.n_samples_seen_ == 1210
    assert model.stream_history_["n_seen"].tolist() == [1202.5]


def test_collecting_joins_rows_a_bounded_number_of_times(monkeypatch):
    """Each row is copied when it comes and when the rows have doubled, however small the chunks."""
    copied, stacked = [], chunks._stacked

    def counted(*parts):
        arrays = parts[0] if isinstance(parts[0], (list, tuple)) else parts
        copied.append(sum(len(array) for array in arrays))
        return stacked(*parts)

    monkeypatch.setattr(chunks, "_stacked", counted)
    model = kernel(2, feature_map="identity", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in range(1024):
            model.partial_fit(X[row : row + 1])
    assert len(copied) <= 12
    assert sum(copied) <= 3 * 1024


def test_lines_of_a_stream_are_written_once():
    lines, copied = StreamLines(), 0
    for number in range(1000):
        before = lines.room
        lines = lines.with_line(StreamLine(number, 1.0, 0.0, 0.5))
        copied += 0 if lines.room is before else number
    assert copied < 2000
    assert lines.table[:, 0].tolist() == list(range(1000))
    assert not lines.table.flags.writeable
    two = [lines.with_line(StreamLine(value, 1.0, 0.0, 0.5)) for value in (1000, 2000)]
    assert [both.table[-1, 0] for both in two] == [1000, 2000]


def test_a_chunk_changes_only_what_it_teaches():
    """What the fit left is not made anew for every chunk."""
    model = kernel(3, feature_map="nystroem", random_state=0).fit(X)
    history, restarts = model.history_, model.restarts_
    model.partial_fit(X[:10])
    assert model.history_ is history
    assert model.restarts_ is restarts


def test_chunks_may_be_read_into_one_buffer():
    models = [kernel(3, feature_map="nystroem", random_state=0) for _ in range(2)]
    buffer = np.empty((10, 8))
    for start in range(0, 60, 10):
        buffer[:] = X[start : start + 10]
        models[0].partial_fit(buffer)
        models[1].partial_fit(X[start : start + 10])
    buffer[:] = np.nan
    assert np.array_equal(*(model.partial_fit(X[60:90]).cluster_centers_ for model in models))


def test_copies_of_a_begun_stream_go_their_own_ways():
    first = kernel(3, feature_map="nystroem", random_state=0).partial_fit(X[:7])
    second = copy.copy(first)
    first.partial_fit(X[7:14])
    second.partial_fit(X[100:107])
    alone = kernel(3, feature_map="nystroem", random_state=0).partial_fit(X[:7]).partial_fit(X[7:14])
    assert np.array_equal(
        first.partial_fit(X[14:30]).cluster_centers_, alone.partial_fit(X[14:30]).cluster_centers_
    )


def test_models_of_older_files_say_so(tmp_path):
    model = kernel(3, feature_map="nystroem", random_state=0).fit(X)
    model._fit = replace(model._fit, stream=None)
    model.save(tmp_path / "old.npz")
    with pytest.raises(ValueError, match="no running sums to go on from"):
        powerkmeans.load(tmp_path / "old.npz").partial_fit(X[:10])


def test_sparse_chunks():
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(0)
    rows = sparse.random_array((1500, 30), density=0.2, format="csr", rng=rng)
    model = kernel(3, feature_map="nystroem", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for start in range(0, 1500, 300):
            model.partial_fit(rows[start : start + 300])
    assert model.n_samples_seen_ == 1500


def test_the_rows_of_the_fit_again_change_no_sum():
    views = {"a": X[:, :4], "b": X[:, 4:]}
    model = several(6, feature_map="nystroem", random_state=0).fit(views)
    before = model._fit.stream.sums
    after = model.partial_fit(views)._fit.stream.sums
    for name in ("mass", "moment", "scatter", "residual", "sizes", "loss", "hard_cost"):
        a, b = np.asarray(getattr(after, name)), np.asarray(getattr(before, name))
        assert np.allclose(a, b, rtol=1e-8, atol=1e-8 * np.max(np.abs(b))), name
    assert model.drift_ == pytest.approx(0, abs=1e-8)


def test_the_drift_is_finite_however_small_the_loss_was():
    assert _drift(1.0, 5e-324) == np.finfo(float).max
    assert (_drift(3.0, 2.0), _drift(3.0, 0.0)) == (0.5, 0.0)
