"""Exact kernels: the kernel trick against the literal algorithm, and against explicit features of the kernel."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from exact_helpers import OTHER, X, Y, kernel_of
from sklearn.metrics.pairwise import rbf_kernel

from helpers import make_present, make_views
from oracle import kernel_power_kmeans
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, explain_views, load
from powerkmeans.engines import NumpyOptions
from powerkmeans.features.maps import exact as exact_features
from powerkmeans.fitting import explicit as explicit_module
from powerkmeans.fitting import moves, prepare
from powerkmeans.fitting.problem import make_task
from powerkmeans.inputs.settings import check_settings
from powerkmeans.metrics import clustering_accuracy
from powerkmeans.sources import open_source
from powerkmeans.types import Parameters

PAPER = {"s_init": -2.0, "anneal_every": 2, "max_iter": 25, "tol": 0.0}


def quietly(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few iterations are not meant to converge
        return model.fit(*args, **kwargs)


def shares(n_clusters=4, n_samples=120, seed=0):
    weights = np.random.default_rng(seed).dirichlet(np.full(n_samples, 0.1), n_clusters)
    return weights / weights.sum(axis=1, keepdims=True)


def eigen_features(K):
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0))


def relative(a, b):
    return np.max(np.abs(np.asarray(a) - np.asarray(b))) / np.max(np.abs(b))


@pytest.mark.parametrize("s_init", [-0.5, -2.0, -9.0])
def test_against_the_literal_kernel_trick(s_init):
    rows = X[::6]
    start = shares(n_samples=len(rows))
    parameters = PAPER | {"s_init": s_init, "max_iter": 8}
    model = quietly(KernelPowerKMeans(4, feature_map="exact", init=start, **parameters), rows)
    sequence = [s_init * 1.04 ** (t // 2) for t in range(8)]
    W, objectives = kernel_power_kmeans(kernel_of(model, rows), start.T, sequence)
    assert relative(model.history_["objective"], objectives) < 1e-10
    assert relative(model.cluster_centers_, W.T) < 1e-9


@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern32"])
def test_agrees_with_the_solver_on_eigen_features(membership, kernel):
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    model = KernelPowerKMeans(4, feature_map="exact", kernel=kernel, membership=membership, init=shares(), **PAPER)
    quietly(model, X, sample_weight=weight)
    K = exact_features.KERNELS[kernel].gram(X, X, model.bandwidth_)
    F = eigen_features(K)
    twin = KernelPowerKMeans(4, feature_map="identity", membership=membership, init=shares() @ F, **PAPER)
    quietly(twin, F, sample_weight=weight)
    assert relative(model.history_["objective"], twin.history_["objective"]) < 1e-8
    assert relative(model.cluster_centers_ @ F, twin.cluster_centers_) < 1e-8
    assert relative(model.transform(X), twin.transform(F)) < 1e-7
    assert relative(model.predict_proba(X), twin.predict_proba(F)) < 1e-7
    assert np.array_equal(model.labels_, twin.labels_)
    assert model.score(X, sample_weight=weight) == pytest.approx(twin.score(F, sample_weight=weight), rel=1e-8)


@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("scaling", [None, "scatter"])
def test_several_kernels_agree_with_the_solver_on_their_eigen_features(membership, missing, scaling):
    rng = np.random.default_rng(0)
    present = make_present(len(X), 2, rng, missing) if missing else None
    parameters = {
        "membership": membership,
        "view_scaling": scaling,
        "view_baseline": None,
        "entropy": 30.0,
        **PAPER,
    }
    views = [X, OTHER]
    start = [shares(seed=0), shares(seed=1)]
    if present is not None:  # weights go to samples that are there
        start = [
            s * there / (s * there).sum(axis=1, keepdims=True) for s, there in zip(start, present.T, strict=True)
        ]
    model = MultiViewPowerKMeans(4, feature_map="exact", init=start, **parameters)
    quietly(model, views, present=present)
    grams = [rbf_kernel(v, gamma=0.5 / b**2) for v, b in zip(views, model.bandwidth_, strict=True)]
    features = [eigen_features(K) for K in grams]
    points = [s @ F for s, F in zip(start, features, strict=True)]
    twin = MultiViewPowerKMeans(4, feature_map="identity", init=points, **parameters)
    quietly(twin, features, present=present)
    assert relative(model.history_["objective"], twin.history_["objective"]) < 1e-8
    assert relative(model.view_weights_, twin.view_weights_) < 1e-8
    assert np.array_equal(model.labels_, twin.labels_)
    if membership == "possibilistic":
        typical = model.typicality(views, present=present), twin.typicality(features, present=present)
        assert relative(*typical) < 1e-7
    ours, theirs = (explain_views(m, v, present=present) for m, v in ((model, views), (twin, features)))
    for column in ("distance_share", "explained", "agreement", "silhouette"):
        assert relative(ours[column], theirs[column]) < 1e-6


@pytest.mark.parametrize("membership", ["fuzzy", "possibilistic"])
def test_defaults_end_where_they_do_on_eigen_features(membership):
    model = KernelPowerKMeans(4, feature_map="exact", membership=membership, random_state=0).fit(X)
    F = eigen_features(kernel_of(model))
    twin = KernelPowerKMeans(4, feature_map="identity", membership=membership, random_state=0).fit(F)
    assert model.critical_exponent_ == pytest.approx(twin.critical_exponent_, rel=1e-6)
    # two runs whose exponents agree to six digits stop at the same step, not at the same point
    assert model.inertia_ == pytest.approx(twin.inertia_, rel=1e-6)
    assert clustering_accuracy(twin.labels_, model.labels_) == 1.0
    assert clustering_accuracy(Y, model.labels_) > 0.95
    assert model.n_components_ == model.n_samples_seen_ == len(X)


def test_kernel_kmeans_is_the_limit():
    model = KernelPowerKMeans(4, feature_map="exact", s_init=-np.inf, n_init=5, random_state=0).fit(X)
    K = kernel_of(model)
    onehot = (model.labels_ == np.arange(4)[:, None]) / np.bincount(model.labels_)[:, None]
    assert np.allclose(model.cluster_centers_, onehot, atol=1e-12)
    cost = np.trace(K) - np.sum(np.vecdot(onehot @ K, onehot) * np.bincount(model.labels_))
    assert model.inertia_ == pytest.approx(cost, rel=1e-10)


def test_samples_beyond_the_explicit_ones(monkeypatch):
    """Starts and moves see a sample only; the objective sees all."""
    whole = KernelPowerKMeans(4, feature_map="exact", random_state=0).fit(X)
    monkeypatch.setattr(prepare, "STATISTIC_ROWS", 40)
    model = KernelPowerKMeans(4, feature_map="exact", random_state=0).fit(X)
    assert model._fit.model.problem.dual == (True,)
    assert model.inertia_ == pytest.approx(whole.inertia_, rel=1e-6)


def test_linear_kernels_are_plain_power_kmeans():
    K = X @ X.T
    given = KernelPowerKMeans(4, feature_map="exact", kernel="precomputed", random_state=0).fit(K)
    plain = KernelPowerKMeans(4, feature_map="identity", random_state=0).fit(X)
    assert given.inertia_ == pytest.approx(plain.inertia_, rel=1e-8)
    assert clustering_accuracy(plain.labels_, given.labels_) == 1.0
    assert np.allclose(np.sort(given.transform(K)), np.sort(plain.transform(X)), rtol=1e-6)
    with pytest.raises(ValueError, match=r"Sample 1 is new.*uneven diagonal"):
        given.transform(np.concatenate([X[:1], X[:5] + 0.1]) @ X.T)


def test_more_clusters_than_explicit_rows(monkeypatch):
    monkeypatch.setattr(prepare, "STATISTIC_ROWS", 20)
    model = KernelPowerKMeans(30, feature_map="exact", s_init=-np.inf, random_state=0).fit(X)
    assert len(set(model.labels_)) == 30


def test_weights_equal_repetition_and_absent_ones_are_none():
    weight = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    parameters = {"feature_map": "exact", "random_state": 0}
    weighted = KernelPowerKMeans(4, **parameters).fit(X, sample_weight=weight)
    repeated = KernelPowerKMeans(4, **parameters).fit(np.repeat(X, weight.astype(int), axis=0))
    padded = KernelPowerKMeans(4, **parameters).fit(
        np.concatenate([X, 9 * X[:20]]), sample_weight=np.concatenate([weight, np.zeros(20)])
    )
    for model in (repeated, padded):
        assert model.inertia_ == pytest.approx(weighted.inertia_, rel=1e-8)
        assert np.array_equal(model.predict(X), weighted.labels_)


def test_views_may_have_maps_of_their_own():
    views = {"a": X, "b": OTHER, "c": OTHER @ OTHER.T}
    model = MultiViewPowerKMeans(
        4,
        feature_map={"a": "exact", "b": "rff", "c": "exact"},
        kernel={"c": "precomputed"},
        random_state=0,
    ).fit(views)
    assert clustering_accuracy(Y, model.labels_) > 0.95
    assert model._fit.model.problem.dual == (True, False, True)
    assert [c.shape[1] for c in model.cluster_centers_] == [len(X), 2 * model.n_components_[1], len(X)]
    assert np.array_equal(model.predict(views), model.labels_)


@pytest.mark.parametrize("reference_distance", ["global", "median", "within", 0.3])
@pytest.mark.parametrize("init", ["auto", "cloud", "k-means++", "k-means", "random"])
def test_every_start_and_reference(init, reference_distance):
    model = KernelPowerKMeans(
        4,
        feature_map="exact",
        membership="possibilistic",
        init=init,
        reference_distance=reference_distance,
        random_state=0,
    ).fit(X)
    assert np.isfinite(model.objective_)
    assert clustering_accuracy(Y, model.labels_) > 0.7


def test_models_are_saved_with_their_rows(tmp_path):
    for fitted, new in (
        (KernelPowerKMeans(4, feature_map="exact", random_state=0).fit(X), X[:9] + 0.1),
        (
            KernelPowerKMeans(4, feature_map="exact", kernel="precomputed", random_state=0).fit(X @ X.T),
            X[:9] @ X.T,
        ),
    ):
        fitted.save(tmp_path / "model.npz", overwrite=True)
        loaded = load(tmp_path / "model.npz")
        assert np.array_equal(loaded.predict(new), fitted.predict(new))
        assert np.array_equal(loaded.cluster_centers_, fitted.cluster_centers_)


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_same_bits_for_any_number_of_threads(n_threads, monkeypatch):
    monkeypatch.setattr("powerkmeans.compute.blocks.BLOCK_BYTES", 2**15)
    models = [
        KernelPowerKMeans(4, feature_map="exact", random_state=0, engine=NumpyOptions(n_threads=n)).fit(X)
        for n in (1, n_threads)
    ]
    assert models[0].objective_ == models[1].objective_
    assert np.array_equal(models[0].cluster_centers_, models[1].cluster_centers_)


def test_single_precision_is_computed_in_double():
    model = KernelPowerKMeans(4, feature_map="exact", random_state=0).fit(X.astype(np.float32))
    double = KernelPowerKMeans(4, feature_map="exact", random_state=0).fit(X.astype(np.float32).astype(np.float64))
    assert model.inertia_ == pytest.approx(double.inertia_, rel=1e-5)
    assert model.transform(X).dtype == np.float32
    assert clustering_accuracy(Y, model.labels_) > 0.95


def test_memory_is_checked_before_it_is_allocated(monkeypatch):
    monkeypatch.setattr(exact_features, "available_memory", lambda: 2**30)
    n = 200_000
    rows = np.broadcast_to(np.zeros((1, 2)), (n, 2))
    with pytest.raises(
        MemoryError, match=r"200000 x 200000 numbers: 298.0 GiB, and 1.0 GiB are available.*nystroem"
    ):
        KernelPowerKMeans(3, feature_map="exact").fit(rows)
    assert exact_features.available_memory() == 2**30
    monkeypatch.undo()
    found = exact_features.available_memory()
    assert found is None or found > 0


def test_what_exact_kernels_cannot_do(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(ValueError, match="needs all rows in memory"):
        KernelPowerKMeans(3, feature_map="exact").fit(open_source(tmp_path / "rows.npy"))
    for model in (
        KernelPowerKMeans(3, feature_map="exact"),
        MultiViewPowerKMeans(3, feature_map={"a": "rff", "b": "exact"}),
        MultiViewPowerKMeans(3, feature_map=["rff", "exact"]),
        KernelPowerKMeans(3, kernel="precomputed"),
        MultiViewPowerKMeans(3, kernel={"a": "precomputed"}),
    ):
        assert not hasattr(model, "partial_fit")
        with pytest.raises(AttributeError) as caught:
            model.partial_fit(X)
        assert "cannot learn from a stream" in str(caught.value.__cause__)
    with pytest.raises(ValueError, match=r"\(n_clusters, n_samples\) = \(4, 120\)"):
        KernelPowerKMeans(4, feature_map="exact", init=X[:4]).fit(X)
    with pytest.raises(ValueError, match="add up to 1"):
        KernelPowerKMeans(4, feature_map="exact", init=np.ones((4, len(X)))).fit(X)
    present = np.ones((len(X), 2), dtype=bool)
    present[3, 0] = False
    with pytest.raises(ValueError, match=r"view_0.*gives weight to sample 3, which lacks that view"):
        MultiViewPowerKMeans(4, feature_map="exact", init=[shares(), shares()]).fit([X, OTHER], present=present)
    with pytest.raises(ValueError, match="only feature_map='exact' takes"):
        KernelPowerKMeans(4, feature_map="nystroem", kernel="precomputed").fit(X @ X.T)
    assert KernelPowerKMeans(4, kernel="precomputed", random_state=0).fit(X @ X.T).feature_map_ == "exact"
    with pytest.raises(ValueError, match="120 features"):
        KernelPowerKMeans(4, feature_map="exact", kernel="precomputed").fit(X @ X.T).predict(X)


def test_equal_rows_and_flat_kernels():
    repeated = np.repeat(X[:3], 10, axis=0)
    model = KernelPowerKMeans(3, feature_map="exact", random_state=0).fit(repeated)
    assert len(set(model.labels_)) == 3
    assert model.inertia_ == pytest.approx(0, abs=1e-9)
    with pytest.raises(ValueError, match="flat"):
        KernelPowerKMeans(3, feature_map="exact", bandwidth=1e12).fit(X)
    with pytest.raises(ValueError, match="nothing to cluster"):
        KernelPowerKMeans(3, feature_map="exact").fit(np.ones((9, 2)))


def test_moves_work_through_coordinates(monkeypatch):
    """Two centroids in one of four far blobs: a move repairs it, in the dual as in coordinates."""
    rng = np.random.default_rng(0)
    far = np.concatenate([rng.normal(c, 0.1, (30, 2)) for c in ([0, 0], [3, 0], [0, 3], [9, 9])])
    seen = []
    original = explicit_module.Explicit.from_explicit

    def watched(self, points):
        seen.append(len(points))
        return original(self, points)

    monkeypatch.setattr(explicit_module.Explicit, "from_explicit", watched)
    model = KernelPowerKMeans(4, feature_map="exact", init="random", random_state=3, bandwidth=2.0).fit(far)
    assert clustering_accuracy(np.repeat(np.arange(4), 30), model.labels_) == 1.0
    assert seen


def exact_task(views, **parameters):
    settings = check_settings(
        MultiViewPowerKMeans(4, feature_map="exact", **parameters).get_params(deep=False), several_views=True
    )
    return make_task(make_views(views), settings, seed=0)


def test_a_move_through_coordinates_lands_where_it_is_meant_to():
    """One centroid amid two blobs, two in another: the proposal must fit all four at once."""
    rng = np.random.default_rng(0)
    spots = np.array([[0, 0], [3, 0], [0, 3], [9, 9]])
    views = [np.concatenate([rng.normal(c, 0.05, (30, 2)) for c in spots]) for _ in range(2)]
    task = exact_task(views, bandwidth=2.0)
    member = np.repeat(np.eye(4), 30, axis=1)
    half = np.concatenate([member[3, :105], np.zeros(15)]), np.concatenate([np.zeros(105), member[3, 105:]])
    stuck = np.stack([member[0] + member[1], member[2], *half])
    stuck /= stuck.sum(axis=1, keepdims=True)
    pairs = np.concatenate([task.prepared.explicit.pair(stuck, view) for view in range(2)], axis=1)
    start = Parameters(pairs, task.uniform_weights())
    change = next(moves._changes(task, start, task.sample_features(task.stream("moves"))))
    assert task.run_pass(change.start, -np.inf).loss < 0.05 * task.run_pass(start, -np.inf).loss


def test_constants_stand_for_all_samples_where_a_sample_is_seen(monkeypatch):
    whole = exact_task([X, OTHER])
    monkeypatch.setattr(prepare, "STATISTIC_ROWS", 60)
    some = exact_task([X, OTHER])
    assert len(some.prepared.explicit.sample.weight) == 60
    assert some.problem.entropy == pytest.approx(whole.problem.entropy, rel=0.05)
    assert np.allclose(some.problem.baseline, whole.problem.baseline, rtol=0.2)


def test_weights_of_samples_add_up_to_one_wherever_a_centroid_is():
    model = quietly(KernelPowerKMeans(4, feature_map="exact", init="cloud", max_iter=1, random_state=0), X)
    assert np.allclose(model.cluster_centers_.sum(axis=1), 1)
    feature_map = model._fit.model.maps[0]
    assert np.allclose(feature_map.uncentred(np.zeros((1, 2 * len(X)))), feature_map.base.share)
    assert model._fit.stream is None
