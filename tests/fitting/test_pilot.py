"""Annealing on a sample of many rows: the same story as on all of them."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import blobs, quick, quick_views
from powerkmeans import KernelPowerKMeans
from powerkmeans.compute.rows import RowEngine
from powerkmeans.engines import NumpyOptions
from powerkmeans.estimators import listeners
from powerkmeans.fitting import pilot, problem
from powerkmeans.inputs.settings import check_settings
from powerkmeans.objective.linearised import mean_sums, pull_sums, scatter_sums
from powerkmeans.sources import chosen
from powerkmeans.types import Views


@pytest.fixture(autouse=True)
def small_pilot(monkeypatch):
    monkeypatch.setattr(pilot, "PILOT_ROWS", 300)
    monkeypatch.setattr(pilot, "ROWS_PER_CLUSTER", 20)


X, _ = blobs(6, 5, 400, 1.5)


def test_the_cost_is_that_of_all_rows(monkeypatch):
    on_sample = quick(6, feature_map="identity", random_state=0).fit(X)
    assert on_sample.status_ == "converged"
    monkeypatch.setattr(problem, "pilot_of", lambda task: None)
    on_all = quick(6, feature_map="identity", random_state=0).fit(X)
    assert on_sample.inertia_ == pytest.approx(on_all.inertia_, rel=1e-3)
    costs = [restart["hard_objective"] for restart in on_sample.restarts_]
    assert all(cost >= 0.99 * on_sample.inertia_ for cost in costs)  # of all rows, not of the sample
    assert on_sample.history_["inertia"][-1] == pytest.approx(on_sample.inertia_, rel=1e-3)


def test_the_sample_weighs_as_much_as_all_rows():
    weight = np.random.default_rng(0).integers(1, 5, len(X)).astype(float)
    settings = check_settings(quick(6).get_params(deep=False))
    full = problem.make_task(Views(("X",), (X,), weight), settings, 0)
    sample = pilot.pilot_of(full)
    assert sample.prepared.engine.n_samples == 300
    assert sample.prepared.total_weight == pytest.approx(np.sum(weight))


def test_weights_equal_repetition_and_rows_without_weight_are_none():
    weight = np.full(500, 3.0)
    few = quick(6, random_state=0).fit(X[::5][:480], sample_weight=weight[:480])
    repeated = quick(6, random_state=0).fit(np.repeat(X[::5][:480], 3, axis=0))
    padded = quick(6, random_state=0).fit(
        np.concatenate([X[::5][:480], X[:1000] + 50]), sample_weight=np.concatenate([weight[:480], np.zeros(1000)])
    )
    for other in (repeated, padded):
        assert other.n_iter_ == few.n_iter_
        assert np.allclose(other.cluster_centers_, few.cluster_centers_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("feature_map", ["identity", "nystroem", "rff"])
@pytest.mark.parametrize("budget", [2**30, 0])
def test_rows_of_many_columns_are_not_copied_and_give_the_same_bits(monkeypatch, feature_map, budget):
    engine = NumpyOptions(memory_budget=budget)
    settings = check_settings(quick(6, feature_map=feature_map, engine=engine).get_params(deep=False))
    fits = []
    for least, kind in ((2**25, np.ndarray), (0, chosen.ChosenRows)):
        monkeypatch.setattr(chosen, "MANY_BYTES", least)
        (rows,) = pilot.pilot_of(
            problem.make_task(Views(("X",), (X,), np.ones(len(X))), settings, 0)
        ).prepared.views.arrays
        assert type(rows) is kind
        fits.append(quick(6, feature_map=feature_map, engine=engine, random_state=0).fit(X))
    assert np.array_equal(fits[0].cluster_centers_, fits[1].cluster_centers_)
    assert np.array_equal(fits[0].labels_, fits[1].labels_)


def test_the_order_of_rows_does_not_matter():
    shuffled = X[np.random.default_rng(0).permutation(len(X))]
    a, b = (quick(6, random_state=0).fit(rows) for rows in (X, shuffled))
    assert np.allclose(a.cluster_centers_, b.cluster_centers_, rtol=1e-6, atol=1e-8)


def test_small_far_clusters_are_found_on_all_rows(monkeypatch):
    rng = np.random.default_rng(0)
    far = np.concatenate([X, *(1000.0 * e + rng.normal(size=(6, 5)) for e in np.eye(5)[:2])])
    on_sample = quick(8, feature_map="identity", random_state=0).fit(far)
    monkeypatch.setattr(problem, "pilot_of", lambda task: None)
    on_all = quick(8, feature_map="identity", random_state=0).fit(far)
    assert on_sample.inertia_ <= 1.1 * on_all.inertia_


def test_a_stopped_fit_says_so():
    class Stop:
        def __init__(self, after):
            self.left = after

        def __call__(self, line):
            self.left -= 1
            return self.left < 0

    for after in (25, 60, 80):
        original = listeners.make_listener

        def listening(*arguments, after=after, original=original):
            listener, stop = original(*arguments), Stop(after)
            heard = listener.iteration
            object.__setattr__(listener, "iteration", lambda line: heard(line) or stop(line))
            return listener

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("powerkmeans.estimators.base.make_listener", listening)
            model = KernelPowerKMeans(6, random_state=0).fit(X)
        total = sum(restart["n_iter"] for restart in model.restarts_)
        if total > after:
            assert model.status_ == "stopped by a callback", after


def test_lambda_and_the_baseline_need_no_pass_over_all_rows(monkeypatch):
    seen, fold = [], RowEngine.fold

    def counted(engine, function, parameters):
        seen.append((engine.n_samples, function))
        return fold(engine, function, parameters)

    monkeypatch.setattr(RowEngine, "fold", counted)
    views = {"left": X[:, :3], "right": X[:, 3:]}
    model = quick_views(6, feature_map="nystroem", random_state=0).fit(views)
    before = seen[: next(i for i, (n, f) in enumerate(seen) if f is pull_sums)]
    assert [function for n, function in before if n == len(X)] == [mean_sums, scatter_sums]
    assert not any(n == len(X) and function is pull_sums for n, function in seen)
    monkeypatch.setattr(problem, "pilot_of", lambda task: None)
    assert model.entropy_ == pytest.approx(
        quick_views(6, feature_map="nystroem", random_state=0).fit(views).entropy_, rel=0.02
    )
