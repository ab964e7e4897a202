"""What view weights must do: permute, share, forget scales, reach their limits, stand missing rows."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from helpers import blobs, make_engine, make_present, make_problem, make_views, pass_over
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.fitting import moves, samples
from powerkmeans.fitting.problem import make_task
from powerkmeans.inputs.settings import check_settings
from powerkmeans.metrics import clustering_accuracy
from powerkmeans.solver.mm import minimise
from powerkmeans.solver.schedules import Geometric
from powerkmeans.types import Parameters

MEMBERSHIPS = ["fuzzy", "possibilistic"]
MAPS = ["rff", "orf", "nystroem", "identity"]


def three_views(n=150, seed=0, noise=6):
    """Two views that tell three clusters apart, one of them less well, and one of noise."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), n // 3)
    sharp = rng.normal(0, 3, (3, 5))[y] + rng.normal(size=(n, 5))
    blurred = rng.normal(0, 2, (3, 8))[y] + 1.5 * rng.normal(size=(n, 8))
    return {"sharp": sharp, "blurred": blurred, "noise": rng.normal(size=(n, noise))}, y


QUICK = {"n_components": 40, "anneal_factor": 1.4}  # for what holds with any landmarks and any annealing
USUAL = {name: MultiViewPowerKMeans().get_params()[name] for name in QUICK}


def fitted(X, weight=None, present=None, **parameters):
    parameters = {"n_clusters": 3, "feature_map": "nystroem", "random_state": 0, **QUICK, **parameters}
    return MultiViewPowerKMeans(**parameters).fit(X, sample_weight=weight, present=present)


@pytest.mark.parametrize("feature_map", MAPS)
@pytest.mark.parametrize("membership", MEMBERSHIPS)
def test_one_view_gives_the_bits_of_the_single_view_estimator(feature_map, membership):
    X, _ = blobs(spread=2.0)
    settings = {"feature_map": feature_map, "membership": membership}
    one = KernelPowerKMeans(3, random_state=0, **settings, **QUICK).fit(X)
    settings["view_scaling"] = None
    for given in (X, [X], {"any name": X}):  # one array in one place: every product is the same
        several = fitted(given, **settings)
        assert np.array_equal(several.cluster_centers_[0], one.cluster_centers_)
        assert np.array_equal(several.labels_, one.labels_)
        assert several.objective_ == one.objective_
        assert np.array_equal(several.predict_proba(given), one.predict_proba(X))
        assert several.view_weights_.tolist() == [1.0]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("feature_map", [*MAPS, "exact"])
def test_the_order_of_views_changes_no_bit(feature_map, missing):
    X, _ = three_views()
    present = make_present(150, 3, np.random.default_rng(0)) if missing else np.ones((150, 3), bool)
    X["constant"], present = np.ones((150, 2)), np.column_stack([present, np.ones(150, bool)])
    names, order = list(X), [2, 3, 0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the constant view
        a = fitted(X, present=present, feature_map=feature_map)
        b = fitted({names[i]: X[names[i]] for i in order}, present=present[:, order], feature_map=feature_map)
    assert np.array_equal(a.labels_, b.labels_)
    assert a.objective_ == b.objective_
    for name in ("view_weights_", "bandwidth_", "reference_distance_", "n_components_"):
        assert np.array_equal(getattr(a, name)[order], getattr(b, name), equal_nan=True), name
    assert all(np.array_equal(a.cluster_centers_[i], c) for i, c in zip(order, b.cluster_centers_, strict=True))
    again = {names[i]: X[names[i]] for i in order}
    assert np.array_equal(a.transform(X, present=present), b.transform(again, present=present[:, order]))


@pytest.mark.parametrize("feature_map", MAPS)
@pytest.mark.parametrize("membership", MEMBERSHIPS)
def test_permuting_views_permutes_weights(feature_map, membership):
    X, _ = three_views()
    a = fitted(X, feature_map=feature_map, membership=membership)
    b = fitted(
        {name: X[name] for name in ("noise", "sharp", "blurred")}, feature_map=feature_map, membership=membership
    )
    assert b.view_names_in_.tolist() == ["noise", "sharp", "blurred"]
    assert b.view_weights_[[1, 2, 0]] == pytest.approx(a.view_weights_, abs=1e-6)
    assert np.array_equal(a.labels_, b.labels_)


@pytest.mark.parametrize("membership", MEMBERSHIPS)
@pytest.mark.parametrize("baseline", ["gaussian", None])
def test_a_duplicated_view_shares_its_weight_evenly(membership, baseline):
    X, _ = three_views()
    doubled = {**X, "again": X["sharp"]}
    model = fitted(doubled, feature_map="identity", membership=membership, view_baseline=baseline)
    assert model.view_weights_[0] == pytest.approx(model.view_weights_[3], abs=1e-9)


def test_a_duplicated_view_with_the_same_frequencies():
    rng = np.random.default_rng(0)
    view = rng.normal(size=(60, 6)) + 3 * np.repeat(rng.normal(size=(3, 6)), 20, axis=0)
    views = [view - view.mean(axis=0)] * 2 + [rng.normal(size=(60, 4))]
    problem = make_problem(views, "possibilistic", entropy=30.0)
    start = Parameters(np.hstack([v[[0, 20, 40]] for v in views]), np.array([0.6, 0.1, 0.3]))
    run_pass = pass_over(make_engine(views), problem)
    found = minimise(run_pass, start, schedule=Geometric(-1.0), problem=problem, tol=1e-6, max_iter=100).parameters
    assert found.view_weights[0] == pytest.approx(found.view_weights[1], abs=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 8.0, 1e6])
@pytest.mark.parametrize("membership", MEMBERSHIPS)
def test_scaling_a_view_with_its_bandwidth_changes_nothing(scale, membership):
    X, _ = three_views()
    # rows are drawn by content; neither the cloud nor Fourier features need any
    settings = {"membership": membership, "init": "cloud", "feature_map": "rff"}
    a = fitted(X, bandwidth={"sharp": 4.0}, **settings)
    b = fitted({**X, "sharp": scale * X["sharp"]}, bandwidth={"sharp": 4.0 * scale}, **settings)
    assert b.view_weights_ == pytest.approx(a.view_weights_, rel=1e-5)
    assert adjusted_rand_score(a.labels_, b.labels_) == 1.0
    c = fitted({**X, "sharp": scale * X["sharp"]}, **settings)  # the median follows by itself
    assert c.view_weights_ == pytest.approx(fitted(X, **settings).view_weights_, rel=1e-5)


@pytest.mark.parametrize("membership", MEMBERSHIPS)
@pytest.mark.parametrize("feature_map", MAPS)
def test_weights_equal_repetition_with_missing_views(membership, feature_map):
    X, _ = three_views()
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 4, 150)
    present = make_present(150, 3, rng)
    repeated = {name: np.repeat(view, weight, axis=0) for name, view in X.items()}
    settings = {"membership": membership, "feature_map": feature_map}
    a = fitted(X, weight, present, **settings)
    b = fitted(repeated, None, np.repeat(present, weight, axis=0), **settings)
    assert a.view_weights_ == pytest.approx(b.view_weights_, abs=1e-8)
    assert a.transform(X, present=present) == pytest.approx(b.transform(X, present=present), abs=1e-6)
    assert a.objective_ == pytest.approx(b.objective_)
    assert a.entropy_ == pytest.approx(b.entropy_)


def test_scaling_all_weights_changes_the_objective_alone():
    X, _ = three_views()
    a, b = fitted(X), fitted(X, np.full(150, 7.5))
    assert b.view_weights_ == pytest.approx(a.view_weights_, rel=1e-9)
    assert b.objective_ == pytest.approx(7.5 * a.objective_)
    assert b.entropy_ == pytest.approx(7.5 * a.entropy_)


def test_order_of_samples_does_not_matter_with_missing_views():
    X, _ = three_views()
    rng = np.random.default_rng(2)
    present, order = make_present(150, 3, rng), rng.permutation(150)
    a = fitted(X, present=present)
    b = fitted({name: view[order] for name, view in X.items()}, present=present[order])
    assert np.array_equal(a.labels_[order], b.labels_)
    assert b.view_weights_ == pytest.approx(a.view_weights_, abs=1e-8)


@pytest.mark.parametrize("membership", MEMBERSHIPS)
@pytest.mark.parametrize("baseline", ["gaussian", None])
def test_limits_of_the_entropy(membership, baseline):
    X, _ = three_views()
    settings = {"membership": membership, "view_baseline": baseline}
    assert fitted(X, entropy=1e9, **settings).view_weights_ == pytest.approx([1 / 3] * 3, abs=1e-5)
    infinite = fitted(X, entropy=float("inf"), **settings)
    assert infinite.view_weights_ == pytest.approx([1 / 3] * 3, abs=1e-12)
    assert np.isfinite(infinite.objective_)
    assert np.all(np.isfinite(infinite.history_["objective"]))
    greedy = fitted(X, entropy=1e-6, **settings)
    assert np.sort(greedy.view_weights_)[::-1] == pytest.approx([1, 0, 0], abs=1e-9)
    assert np.all(greedy.view_weights_ > 0)


def test_auto_entropy_is_a_share_of_the_collapsed_loss_and_free_of_scale():
    X, _ = three_views()
    model = fitted(X, membership="fuzzy")
    # every view is scaled to unit scatter, so that its loss with one centroid is the number of samples
    assert model.entropy_ == pytest.approx(0.3 * 150)
    raw = fitted(X, membership="fuzzy", view_scaling=None, feature_map="identity")
    scatter = [np.sum((v - v.mean(axis=0)) ** 2) for v in X.values()]
    assert raw.entropy_ == pytest.approx(0.3 * np.mean(scatter))
    settings = {"membership": "fuzzy", "view_scaling": None, "init": "cloud", "feature_map": "rff"}
    large = fitted({name: 1e5 * v for name, v in X.items()}, **settings)
    assert large.view_weights_ == pytest.approx(fitted(X, **settings).view_weights_, rel=1e-6)


def twins(others):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 200)
    centers = rng.normal(0, 2, (3, 5))
    X = {name: centers[y] + 1.5 * rng.normal(size=(600, 5)) for name in ("twin", "other")}
    return X | {"third": rng.normal(size=(600, 5))} if others == 2 else X


@functools.cache
def weights_of_whole_twins(others, membership, baseline):
    return fitted(twins(others), membership=membership, view_baseline=baseline).view_weights_


@pytest.mark.parametrize("membership", MEMBERSHIPS)
@pytest.mark.parametrize("baseline", ["gaussian", None])
@pytest.mark.parametrize("others", [1, 2])
@pytest.mark.parametrize("missing", [0.2, 0.5, 0.8])
@pytest.mark.filterwarnings("ignore::powerkmeans.exceptions.DataGuidanceWarning")  # a view of noise
def test_the_weight_of_a_twin_does_not_depend_on_its_missing_rows(membership, baseline, others, missing):
    X, settings = twins(others), {"membership": membership, "view_baseline": baseline}
    X["twin"][np.random.default_rng(1).random(600) < missing] = np.nan
    found = fitted(X, **settings).view_weights_
    whole = weights_of_whole_twins(others, membership, baseline)
    # without the baseline it drifts: samples that have the twin are explained by it more than by the other
    limit = 0.15 if baseline is None else 0.05 if others == 1 else 0.08
    assert abs(found[0] - whole[0]) < limit


@pytest.mark.parametrize("scaling", ["scatter", None])
def test_reference_distances_are_scaled_as_missing_rows_ask(scaling):
    X, _ = three_views()
    present = make_present(150, 3, np.random.default_rng(0), 0.5)
    weight = np.random.default_rng(1).uniform(0.5, 2, 150)
    cover = 3 * present / present.sum(axis=1, keepdims=True)
    kappa = weight.sum() / (weight @ cover)
    settings = {"feature_map": "identity", "view_scaling": scaling}
    model = fitted(X, weight, present, reference_distance=7.0, **settings)
    assert model.reference_distance_ == pytest.approx(7.0 * kappa)
    model = fitted(X, weight, present, **settings)
    expected = []
    for index, view in enumerate(X.values()):
        v, rows = weight[present[:, index]], view[present[:, index]]
        expected.append(np.average(((rows - np.average(rows, axis=0, weights=v)) ** 2).sum(axis=1), weights=v))
    assert model.reference_distance_ == pytest.approx(kappa if scaling else kappa * np.array(expected))


@pytest.mark.parametrize("membership", MEMBERSHIPS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_samples_that_have_only_a_losing_view(membership, dtype):
    X, _ = three_views()
    lost = 0
    for name in X:
        given = {other: view.astype(dtype) for other, view in X.items()}
        for other in set(X) - {name}:
            given[other][::10] = np.nan
        model = fitted(given, membership=membership, entropy=1e-3)
        lost += model.view_weights_[list(X).index(name)] < 1e-6
        scores = [model.typicality(given)] if membership == "possibilistic" else []
        for answer in (model.predict_proba(given), model.transform(given), *scores, *model.cluster_centers_):
            assert np.all(np.isfinite(answer))
        assert np.isfinite(model.score(given))
        assert np.all(np.isfinite(model.history_["objective"]))
    assert lost >= 1


def test_a_constant_view_gets_no_weight_and_a_warning_that_names_it():
    X, _ = three_views()
    with pytest.warns(UserWarning, match="view 'blank' is constant"):
        model = fitted({**X, "blank": np.full((150, 4), 7.0)})
    assert model.view_weights_[3] == 0
    assert model.cluster_centers_[3].shape == (3, 0)
    without = fitted(X)
    assert np.array_equal(model.labels_, without.labels_)
    assert model.view_weights_[:3] == pytest.approx(without.view_weights_)
    assert model.history_["view_weights"].shape[1] == 4
    new = {name: view[:5] for name, view in X.items()}
    assert np.array_equal(model.predict({**new, "blank": np.ones((5, 4))}), model.labels_[:5])
    hidden = {name: np.where(np.arange(5)[:, None] == 2, np.nan, view) for name, view in new.items()}
    with pytest.raises(ValueError, match="Sample 2 has no view but those that were constant"):
        model.predict({**hidden, "blank": np.ones((5, 4))})


@pytest.mark.parametrize("settings", [{"bandwidth": {"sharp": 1e9}}, {"feature_map": "identity"}])
def test_flat_views_are_left_out(settings):
    X, _ = three_views()
    if settings.get("feature_map") == "identity":
        X["sharp"] = 1e8 + 1e-12 * X["sharp"]
    with pytest.warns(UserWarning, match="view 'sharp' is constant, or its kernel is flat"):
        model = fitted(X, **settings)
    assert model.view_weights_[0] == 0
    assert np.sum(model.view_weights_) == pytest.approx(1)


def test_all_views_constant_is_an_error():
    with pytest.raises(ValueError, match=r"All rows are equal \(n_samples=20, 1 distinct\)"):
        fitted({"a": np.ones((20, 2)), "b": np.ones((20, 3))})
    with pytest.raises(ValueError, match="All views are constant"):
        fitted({"a": np.eye(20), "b": np.eye(20)}, bandwidth=1e12)


@pytest.mark.parametrize("dimension", [1, 2, 8, 32])
@pytest.mark.parametrize("membership", MEMBERSHIPS)
def test_noise_of_any_dimension_loses(dimension, membership):
    X, y = three_views(noise=dimension)
    model = fitted(X, membership=membership, **USUAL)
    assert model.view_weights_[2] < 0.2
    assert clustering_accuracy(y, model.labels_) > 0.95


def test_one_dimension_of_noise_wins_without_the_baseline_only():
    X, y = make_blobs(300, centers=5, n_features=20, center_box=(-4, 4), random_state=0)
    both = {"blobs": X, "noise": np.random.default_rng(0).normal(size=(300, 1))}
    plain = fitted(both, n_clusters=5, view_baseline=None, **USUAL)
    assert plain.view_weights_[1] > 0.9
    assert clustering_accuracy(y, plain.labels_) < 0.5
    model = fitted(both, n_clusters=5, **USUAL)
    assert model.view_weights_[1] < 0.1
    assert clustering_accuracy(y, model.labels_) > 0.95


@pytest.mark.parametrize("membership", MEMBERSHIPS)
def test_descent_in_a_fit_with_missing_views(membership):
    X, _ = three_views()
    present = make_present(150, 3, np.random.default_rng(3), 0.4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted(
            X, present=present, membership=membership, s_init=-3.0, anneal_factor=1.0, max_iter=40, tol=0.0
        )
    values = model.history_["objective"]
    assert np.all(np.diff(values) <= 1e-12 * np.max(np.abs(values)))


def test_extreme_scales_in_one_view():
    X, _ = three_views()
    for feature_map in ("rff", "nystroem"):
        plain = fitted(X, init="cloud", feature_map=feature_map)
        for scale in (1e-30, 1e30):
            model = fitted({**X, "sharp": scale * X["sharp"]}, init="cloud", feature_map=feature_map)
            # landmarks are drawn by content, so others are drawn of scaled rows
            assert adjusted_rand_score(model.labels_, plain.labels_) > (0.999 if feature_map == "rff" else 0.9)
            assert np.all(np.isfinite(model.view_weights_))


@pytest.mark.parametrize("missing", ["nan", "present"])
def test_missing_rows_are_never_looked_at(missing):
    X, _ = three_views()
    gone = np.arange(40)
    spoiled = {name: view.copy() for name, view in X.items()}
    present = {"noise": np.ones(150, dtype=bool)}
    if missing == "nan":
        spoiled["noise"][gone] = np.nan
    else:
        spoiled["noise"][gone] = 1e6
        present["noise"][gone] = False
    reference = {name: view.copy() for name, view in X.items()}
    reference["noise"][gone] = -5.0
    mask = np.ones((150, 3), dtype=bool)
    mask[gone, 2] = False
    a, b = fitted(spoiled, present=present), fitted(reference, present=mask)
    assert a.objective_ == b.objective_  # arrays of one layout and the same numbers: every product is the same
    assert np.array_equal(a.labels_, b.labels_)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("init", ["cloud", "k-means++"])
def test_views_that_never_meet(seed, init):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = {name: 6.0 * y[:, None] + rng.normal(size=(200, 3)) for name in ("left", "right")}
    present = np.arange(200)[:, None] % 2 == [0, 1]
    model = fitted(X, present=present, n_clusters=2, random_state=seed, init=init)
    for index, view in enumerate(X):
        mine = present[:, index]
        assert clustering_accuracy(y[mine], model.labels_[mine]) > 0.95, view


@pytest.mark.parametrize("how", ["seldom", "few have it"])
@pytest.mark.parametrize("settings", [{}, {"view_baseline": None}, {"reference_distance": "median"}])
@pytest.mark.parametrize("feature_map", ["rff", "nystroem", "identity"])
@pytest.mark.filterwarnings("ignore::powerkmeans.exceptions.DataGuidanceWarning")  # it says nothing
def test_a_view_that_the_sample_misses(how, settings, feature_map, monkeypatch):
    monkeypatch.setattr(samples, "START_ROWS", 100)
    rng = np.random.default_rng(0)
    often, rare = rng.normal(size=(400, 2)), np.zeros((400, 1))
    often[:200] += 6
    rare[:3, 0] = [1.0, 2.0, 3.0]
    if how == "few have it":
        rare[3:] = np.nan
    for seed in range(2):
        model = fitted(
            {"often": often, "rare": rare}, n_clusters=2, random_state=seed, feature_map=feature_map, **settings
        )
        assert np.all(np.isfinite(model.view_weights_))
        assert model.view_weights_[1] > 0
        assert np.all(np.isfinite(model.transform({"often": often, "rare": rare})))


@pytest.mark.parametrize("n_values", [2, 3])
def test_a_view_of_few_values_earns_nothing_by_having_few(n_values):
    X, y = three_views()
    X["noise"] = np.random.default_rng(0).integers(n_values, size=(150, 1)).astype(float)
    model = fitted(X, **USUAL)
    assert model.view_weights_[2] < 0.2
    assert clustering_accuracy(y, model.labels_) > 0.95


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_samples_on_centroids_at_small_exponents(dtype):
    # where a centroid sits on a sample, that sample's pull is about k^(1/|s|)
    rng = np.random.default_rng(0)
    y = rng.integers(20, size=400)
    X = [(4 * rng.normal(size=(20, 6))[y] + rng.normal(size=(400, 6))).astype(dtype) for _ in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted(X, n_clusters=20, s_init=-0.1, anneal_factor=1.0, init="k-means++", max_iter=20, tol=0.0)
    values = model.history_["objective"]
    assert np.all(np.diff(values) <= (1e-4 if dtype == np.float32 else 1e-12) * np.max(np.abs(values)))
    assert np.all(np.abs(model.history_["view_weights"] - 0.5) < 0.2)


def test_tiny_scales_without_a_kernel_are_named_for_what_they_are():
    X, _ = three_views()
    with pytest.raises(ValueError, match="Squared distances in view 'sharp' underflow float64; rescale the data"):
        fitted({**X, "sharp": 1e-160 * X["sharp"]}, feature_map="identity")
    small = {name: view.astype(np.float32) for name, view in X.items()}
    small["sharp"] *= np.float32(1e-30)
    for settings in ({"feature_map": "identity"}, {"bandwidth": "scale"}):
        with pytest.raises(ValueError, match="Squared distances in view 'sharp' underflow float32"):
            fitted(small, **settings)


def test_a_proposed_move_sees_absent_views_at_the_nearest_centroid():
    X, _ = three_views()
    present = make_present(150, 3, np.random.default_rng(0), 0.5)
    settings = check_settings(MultiViewPowerKMeans(3, feature_map="identity").get_params(), several_views=True)
    task = make_task(make_views(list(X.values()), present=present), settings, seed=0)
    sample = task.sample_features(task.stream("moves"))
    centers = np.concatenate([view[:3] for view in sample.views], axis=1)
    filled = moves._filled(task.problem, Parameters(centers, np.full(3, 1 / 3)), sample)
    for view, part in enumerate(task.problem.view_slices):
        there = sample.present[:, view]
        assert np.array_equal(filled[there, part], sample.views[view][there])
        assert np.all(np.any(np.all(filled[~there, part][:, None] == centers[None, :, part], axis=2), axis=1))
    # nearest among the views that the sample has
    row = int(np.flatnonzero(~sample.present[:, 0] & sample.present[:, 1] & ~sample.present[:, 2])[0])
    part = task.problem.view_slices[1]
    nearest = np.argmin(((sample.views[1][row] - centers[:, part]) ** 2).sum(axis=1))
    assert np.array_equal(
        filled[row], np.where(np.isin(np.arange(19), range(5, 13)), filled[row], centers[nearest])
    )
