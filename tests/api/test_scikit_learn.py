"""At home in scikit-learn: pipelines, searches, data frames, pickles, callbacks."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import blobs, quick
from powerkmeans import MultiViewPowerKMeans
from powerkmeans.metrics import clustering_accuracy

X, Y = blobs(spread=1.0)


def features_of(model, X):
    return model._fit.model.maps[0].base(X, np)


@pytest.fixture(scope="module")
def model():
    return quick(3, random_state=0).fit(X)


def test_methods_agree_with_each_other(model):
    probabilities = model.predict_proba(X)
    assert probabilities.sum(axis=1) == pytest.approx(1.0)
    assert np.array_equal(probabilities.argmax(axis=1), model.labels_)
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.array_equal(model.transform(X).argmin(axis=1), model.labels_)
    assert model.labels_.dtype == np.int32
    assert model.score(X) == pytest.approx(1, abs=0.5)
    assert np.sum(model.transform(X).min(axis=1) ** 2) == pytest.approx(model.inertia_)
    again = clone(model)
    assert np.array_equal(again.fit_predict(X), model.labels_)
    assert clone(model).fit_transform(X) == pytest.approx(model.transform(X))


def test_centers_are_points_of_the_uncentred_feature_space(model):
    base = model._fit.model.maps[0].base
    phi = base(X, np)
    distances = np.sqrt(((phi[:, None] - model.cluster_centers_) ** 2).sum(axis=2))
    assert model.transform(X) == pytest.approx(distances, abs=1e-9)
    assert model.cluster_centers_.shape == (3, base.n_outputs)


def test_history_tells_the_story():
    model = quick(3, feature_map="nystroem", random_state=0).fit(X)
    history = model.history_
    assert set(history) == {"s", "objective", "inertia", "shift", "n_distinct", "view_weights", "groups"}
    assert all(len(column) == model.n_iter_ for column in history.values())
    finite = history["s"][np.isfinite(history["s"])]
    assert np.all(np.diff(finite) <= 0)
    assert finite[0] == model.s_init_
    assert finite[-1] == model.s_
    assert history["s"][-1] == -np.inf  # the finish, as k-means
    assert [len(np.unique(line)) for line in history["groups"]] == history["n_distinct"].tolist()
    assert history["groups"][-1].tolist() == [0, 1, 2]
    assert model.cluster_centers_ == pytest.approx(
        np.stack([features_of(model, X)[model.labels_ == j].mean(axis=0) for j in range(3)]), abs=1e-3
    )
    assert model.status_ == "converged"
    assert len(model.restarts_) == 2
    assert {r["init"] for r in model.restarts_} == {"cloud", "k-means++"}


def test_outliers_score_high():
    data = np.vstack([X, [[60.0] * 5]])
    fit = quick(3, membership="possibilistic", random_state=0).fit(data)
    assert np.argmax(fit.outlier_score(data)) == len(X)
    assert fit.typicality(data) == pytest.approx(1 - fit.outlier_score(data))
    assert fit.reference_distance_ > 0
    plain = quick(3, feature_map="nystroem", random_state=0).fit(data)
    assert plain.reference_distance_ is None


@pytest.mark.parametrize("asked", ["typicality", "outlier_score"])
def test_a_fuzzy_model_without_a_graph_has_no_scores(asked):
    ways = "fit with membership='possibilistic' or feature_map='graph'.*transform"
    several = MultiViewPowerKMeans(3, feature_map="nystroem", membership="fuzzy", random_state=0)
    for model, rows in [(quick(3, feature_map="nystroem", random_state=0), X), (several, [X[:, :2], X[:, 2:]])]:
        with pytest.raises(ValueError, match=f"{asked} needs outlier scores; {ways}"):
            getattr(model.fit(rows), asked)(rows)


def test_far_outliers_still_get_their_nearest_cluster():
    fit = quick(3, feature_map="identity", membership="possibilistic", random_state=0)
    fit.fit(X.astype(np.float32))
    far = (X[:5] * 1e12).astype(np.float32)
    assert np.array_equal(fit.predict(far), fit.transform(far).argmin(axis=1))
    assert fit.predict_proba(far).sum(axis=1) == pytest.approx(1.0)


def test_reference_distances():
    def fit(reference):
        settings = {"feature_map": "nystroem", "membership": "possibilistic", "reference_distance": reference}
        return quick(3, random_state=0, **settings).fit(X)

    phi = features_of(fit("global"), X)
    norms = np.sum((phi - phi.mean(axis=0)) ** 2, axis=1)
    assert fit("global").reference_distance_ == pytest.approx(np.mean(norms))
    norms = np.sum((phi - np.median(phi, axis=0)) ** 2, axis=1)
    assert fit("median").reference_distance_ == pytest.approx(np.median(norms), rel=1e-2)
    plain = quick(3, feature_map="nystroem", random_state=0).fit(X)
    assert fit("within").reference_distance_ == pytest.approx(plain.inertia_ / len(X), rel=1e-2)
    assert fit(0.3).reference_distance_ == 0.3
    for reference in ("global", "median", "within", 0.3):
        assert len(np.unique(fit(reference).labels_)) == 3


@pytest.mark.parametrize("far", [1e3, 1e4, 1e6])
def test_one_gross_outlier_leaves_the_clusters_alone(far):
    data, y = make_blobs(300, centers=3, n_features=2, random_state=3, cluster_std=0.7)
    spoiled = np.vstack([data, [[far, far]]])
    for seed in range(3):
        fit = quick(
            3,
            feature_map="identity",
            membership="possibilistic",
            reference_distance="median",
            random_state=seed,
        ).fit(spoiled)
        assert clustering_accuracy(y, fit.labels_[:-1]) == 1.0
        assert np.argmax(fit.outlier_score(spoiled)) == 300


def test_an_outlier_that_dominates_the_scatter_does_not_end_the_fit():
    data, _ = make_blobs(300, centers=3, n_features=2, random_state=3, cluster_std=0.7)
    fit = quick(4, feature_map="identity", random_state=0).fit(np.vstack([data, [[1e7, 1e7]]]))
    plain = quick(3, feature_map="identity", random_state=0).fit(data)
    assert fit.inertia_ == pytest.approx(plain.inertia_, rel=0.01)


@pytest.mark.parametrize("fuzziness", [1.1, 1.2, 2.0])
@pytest.mark.parametrize("s_init", ["auto", -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_samples_go_to_their_nearest_cluster(fuzziness, s_init, dtype):
    rng = np.random.default_rng(0)
    data = np.concatenate([rng.normal(c, 0.5, (50, 2)) for c in ((0, 0), (10, 0), (0, 10))]).astype(dtype)
    far = np.array([[1e3, 0], [0, 1e3], [300, 0], [0, 300], [100, 0], [0, 100]], dtype=dtype)
    fit = quick(
        3, feature_map="identity", membership="possibilistic", fuzziness=fuzziness, s_init=s_init, random_state=0
    ).fit(data)
    assert np.array_equal(fit.predict(far), fit.transform(far).argmin(axis=1))
    assert np.array_equal(fit.predict_proba(far).argmax(axis=1), fit.predict(far))


@pytest.mark.parametrize("init", ["auto", "cloud", "k-means++", "k-means", "random"])
@pytest.mark.parametrize("s_init", ["auto", -5.0, -np.inf])
def test_every_start(init, s_init):
    settings = {"init": init, "s_init": s_init, "n_init": 2}
    fit = quick(3, feature_map="nystroem", random_state=0, **settings).fit(X)
    assert len(fit.restarts_) == 2
    assert len(np.unique(fit.labels_)) == 3


def test_minus_infinity_is_k_means():
    from sklearn.cluster import KMeans

    ours = quick(3, feature_map="identity", s_init=-np.inf, init=X[[0, 1, 60]], tol=0).fit(X)
    theirs = KMeans(3, init=X[[0, 1, 60]], n_init=1, tol=0).fit(X)
    assert ours.cluster_centers_ == pytest.approx(theirs.cluster_centers_)
    assert ours.inertia_ == pytest.approx(theirs.inertia_)
    assert np.array_equal(np.unique(ours.predict_proba(X)), [0.0, 1.0])


def test_given_centroids_in_either_space(model):
    from_data = quick(3, init=X[[0, 40, 80]], random_state=0).fit(X)
    warm = quick(3, init=model.cluster_centers_, s_init=model.s_, random_state=0).fit(X)
    assert np.array_equal(warm.labels_, model.labels_)
    assert warm.n_iter_ <= 12
    assert from_data.inertia_ == pytest.approx(model.inertia_, rel=1e-2)


def test_best_of_several_runs_is_kept():
    fit = quick(6, init="random", s_init=-np.inf, n_init=5, random_state=0).fit(X)
    assert fit.inertia_ == pytest.approx(min(r["hard_objective"] for r in fit.restarts_))


def test_random_state_reproduces_and_varies():
    a, b = (quick(3, random_state=7).fit(X) for _ in range(2))
    assert np.array_equal(a.cluster_centers_, b.cluster_centers_)
    c = quick(3, random_state=8).fit(X)
    assert not np.array_equal(a.cluster_centers_, c.cluster_centers_)
    quick(3, random_state=np.random.RandomState(0)).fit(X)
    quick(3, random_state=np.random.default_rng(0)).fit(X)


@pytest.mark.parametrize("feature_map", ["rff", "identity", "nystroem"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.filterwarnings("ignore::powerkmeans.exceptions.DataGuidanceWarning")  # a small map
def test_sparse_rows_cluster_like_dense_ones(feature_map, dtype):
    rng = np.random.default_rng(0)
    data = np.round(X * (rng.random(X.shape) < 0.5), 2).astype(dtype)
    dense = quick(3, feature_map=feature_map, random_state=0).fit(data)
    for container in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array):
        fit = quick(3, feature_map=feature_map, random_state=0).fit(container(data))
        assert fit.inertia_ == pytest.approx(dense.inertia_, rel=1e-3 if dtype == np.float32 else 1e-6)
        assert fit.transform(container(data)).dtype == dtype
        assert np.array_equal(fit.predict(container(data)), fit.labels_)


def test_fitted_precision_rules():
    fit = quick(3, random_state=0).fit(X.astype(np.float32))
    assert fit.transform(X).dtype == np.float32
    assert fit.predict_proba(X).dtype == np.float32
    assert fit.cluster_centers_.dtype == np.float32


def test_pipeline_grid_search_and_cross_validation():
    pipeline = make_pipeline(StandardScaler(), quick(3, random_state=0, max_iter=200))
    assert np.all(np.isfinite(cross_val_score(pipeline, X, cv=3)))
    search = GridSearchCV(pipeline, {"kernelpowerkmeans__n_clusters": [2, 3]}, cv=2).fit(X)
    assert search.best_params_["kernelpowerkmeans__n_clusters"] in (2, 3)
    pipeline.fit(X, kernelpowerkmeans__sample_weight=np.ones(len(X)))
    assert pipeline.transform(X).shape == (len(X), 3)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_in_and_out(library):
    frames = pytest.importorskip(library)
    names = [f"c{i}" for i in range(5)]
    frame = frames.DataFrame({name: X[:, i] for i, name in enumerate(names)})
    fit = quick(3, random_state=0).set_output(transform=library).fit(frame)
    assert fit.feature_names_in_.tolist() == names
    out = fit.transform(frame)
    assert isinstance(out, frames.DataFrame)
    assert list(out.columns) == [f"kernelpowerkmeans{j}" for j in range(3)] == list(fit.get_feature_names_out())
    assert isinstance(clone(fit).set_output(transform=library).fit_transform(frame), frames.DataFrame)


def test_pickle_and_clone(model):
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(X), model.predict(X))
    assert not hasattr(clone(model), "labels_")


def test_verbose_speaks_on_stderr(capsys):
    rows = np.random.default_rng(0).normal(size=(100, 9))
    quick(3, feature_map="nystroem", random_state=0, verbose=2).fit(rows)
    out, err = capsys.readouterr()
    assert out == ""
    assert "n_components='auto': at least 48 landmarks, the outputs of ceil(4 log(2k)^3) = 24 for k=3" in err
    assert "critical exponent" in err
    assert "run 2 of 2: start k-means++" in err
    assert "distinct centroids 3" in err
    quick(3, feature_map="rff", kernel="matern32", random_state=0, verbose=1).fit(X)
    err = capsys.readouterr().err
    assert "the theorem does not cover kernel='matern32'" in err
    assert "clusters separate at every exponent below zero" in err or "critical exponent" in err
    quick(3, random_state=0).fit(X)
    assert capsys.readouterr() == ("", "")


def told_times(err):
    """Names of the parts of a fit whose seconds were told, in their order."""
    return re.findall(r"^\[powerkmeans\] ([a-z ]+): [0-9.e-]+ s$", err, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("feature_map", "made"),
    [("graph", ["graph built", "all rows mapped"]), ("nystroem", ["maps made", "all rows mapped"])],
)
def test_verbose_names_every_pass_over_all_rows_that_is_no_iteration(feature_map, made, capsys):
    model = quick(3, feature_map=feature_map, membership="fuzzy", random_state=0, verbose=1).fit(X)
    told = told_times(capsys.readouterr().err)
    assert told[:4] == ["rows drawn from all", *made, "critical exponent sought"]
    assert told[-2:] == ["labels of all rows", "last sums over all rows"]
    assert set(told[4:-2]) <= {"cost of all rows"}
    silent = quick(3, feature_map=feature_map, membership="fuzzy", random_state=0).fit(X)
    assert np.array_equal(model.labels_, silent.labels_)
    assert np.array_equal(model.cluster_centers_, silent.cluster_centers_)


def test_a_run_on_a_sample_tells_of_the_cost_of_all_rows(capsys, monkeypatch):
    monkeypatch.setattr("powerkmeans.fitting.pilot.PILOT_ROWS", 32)
    quick(3, feature_map="identity", random_state=0, verbose=1).fit(blobs(size=700)[0])
    assert told_times(capsys.readouterr().err).count("cost of all rows") >= 2


class Recorder:
    """A callback that counts iterations and stops the fit after some."""

    def __init__(self, stop_after=None):
        self.stop_after, self.tasks, self.torn_down = stop_after, [], False

    def setup(self, estimator, context):
        self.tasks = []

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, metadata=None):
        self.tasks.append((context.task_name, metadata))
        return self.stop_after is not None and len(self.tasks) >= self.stop_after

    def teardown(self, estimator, context):
        self.torn_down = True


def test_scikit_learn_callbacks():
    pytest.importorskip("sklearn.callback")
    recorder = Recorder()
    fit = quick(3, feature_map="nystroem", random_state=0).set_callbacks(recorder).fit(X)
    iterations = [metadata for name, metadata in recorder.tasks if name == "iteration"]
    assert len(iterations) >= fit.n_iter_
    assert set(iterations[0]) == {"s", "objective", "shift"}
    assert recorder.torn_down
    assert recorder.tasks[-1][0] == "fit"

    stopper = Recorder(stop_after=4)
    fit = quick(3, feature_map="nystroem", random_state=0).set_callbacks(stopper).fit(X)
    assert fit.n_iter_ == 4
    assert fit.status_ == "stopped by a callback"

    # a stop in the second run ends the fit, whichever run is kept
    first = next(i for i, (name, _) in enumerate(recorder.tasks) if name.startswith("run 1"))
    stopper = Recorder(stop_after=first + 3)
    quick(3, feature_map="nystroem", random_state=0).set_callbacks(stopper).fit(X)
    assert len(stopper.tasks) == first + 5  # its run's end and the fit's


def test_a_sample_far_from_all_landmarks_is_an_outlier():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(c, 1.0, (100, 8)) for c in (-3, 3)])
    model = quick(2, membership="possibilistic", random_state=0).fit(rows)
    far = rng.normal(0, 30, (5, 8))
    assert np.min(model.outlier_score(far)) > np.quantile(model.outlier_score(rows), 0.99)
    threshold = float(np.quantile(model.outlier_score(rows), 0.99))
    assert np.all(model.predict(far, noise_threshold=threshold) == -1)
