"""Where a run ends, and that its last sums are those of that place."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest

from helpers import blobs, make_engine, make_problem, make_views, pass_over
from powerkmeans import KernelPowerKMeans
from powerkmeans.fitting import pilot, runs
from powerkmeans.fitting.problem import make_task, make_tasks
from powerkmeans.fitting.starts import place_rows
from powerkmeans.fitting.task import Task
from powerkmeans.inputs.settings import check_settings
from powerkmeans.solver.mm import minimise
from powerkmeans.solver.schedules import Geometric, Hard
from powerkmeans.types import Parameters, Status


def solved(schedule, tol=1e-4, max_iter=200, on_iteration=None, k=3):
    """A run, its passes' parameters and exponents, and the pass."""
    X, _ = blobs(k, spread=1.5)
    problem = make_problem([X], "possibilistic")
    run_pass, passes = pass_over(make_engine([X]), problem), []

    def counted(parameters, s):
        passes.append((parameters, s))
        return run_pass(parameters, s)

    start = Parameters(X[:: len(X) // k][:k].astype(float) + 0.1, np.ones(1))
    result = minimise(
        counted, start, schedule=schedule, problem=problem, tol=tol, max_iter=max_iter, on_iteration=on_iteration
    )
    return result, passes, run_pass


@pytest.mark.parametrize("schedule", [Hard(), Geometric(-2.0, 1.0), Geometric(-2.0, 1.1, 1)], ids=repr)
def test_a_run_that_settled_ends_where_its_last_sums_are(schedule):
    result, passes, run_pass = solved(schedule)
    assert result.status is Status.CONVERGED
    assert len(passes) == len(result.history)
    assert result.parameters is passes[-1][0]
    again = run_pass(result.parameters, result.history[-1].s)
    for field in fields(again):
        assert np.array_equal(getattr(result.sums, field.name), getattr(again, field.name)), field.name


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"schedule": Geometric(-2.0, 1.1, 1), "max_iter": 4}, Status.MAX_ITER),
        ({"schedule": Hard(), "on_iteration": lambda line: True}, Status.INTERRUPTED),
        ({"schedule": Geometric(-2.0, 1.1, 1, hand_over=-2.5), "tol": 0.0}, Status.CONVERGED),
    ],
)
def test_a_run_that_is_cut_short_takes_its_last_step(options, status):
    result, passes, _ = solved(**options)
    assert result.status is status
    assert result.sums is None
    assert not np.array_equal(result.parameters.centers, passes[-1][0].centers)


def test_a_last_step_that_turns_view_weights_is_taken():
    """Centroids may stand still long before the weights do, which the losses of views follow in proportion."""
    rng = np.random.default_rng(0)
    views = [np.repeat(rng.normal(0, 5, (3, d)), 40, axis=0) + rng.normal(size=(120, d)) for d in (4, 2)]
    means = [np.mean(view.reshape(3, 40, -1), axis=1) for view in views]
    problem = make_problem(views, "possibilistic", entropy=100.0)
    run_pass = pass_over(make_engine(views), problem)
    options = {"schedule": Hard(), "problem": problem, "max_iter": 100}
    start = Parameters(np.concatenate(means, axis=1), np.array([0.5, 0.5]))
    early = minimise(run_pass, start, tol=1e-2, **options)
    assert (early.status, early.sums) == (Status.CONVERGED, None)
    assert early.parameters.view_weights[0] < 0.1
    settled = minimise(run_pass, start, tol=1e-12, **options).parameters
    late = minimise(run_pass, settled, tol=1e-2, **options)
    assert late.sums is not None
    assert late.parameters is settled


def task_on(X, **parameters):
    settings = KernelPowerKMeans(3, feature_map="identity", **parameters).get_params()
    return make_task(make_views([X]), check_settings(settings), seed=0)


def count_passes(monkeypatch):
    passes, run_pass = [], Task.run_pass

    def counted(self, parameters, s):
        passes.append(s)
        return run_pass(self, parameters, s)

    monkeypatch.setattr(Task, "run_pass", counted)
    return passes


def test_the_hard_objective_of_settled_k_means_costs_no_pass(monkeypatch):
    task = task_on(blobs(3, spread=1.5)[0])
    passes = count_passes(monkeypatch)
    start = place_rows("k-means++", task, np.random.default_rng(0))
    result = task.descend(start)
    value, loss = task.hard_objective(result)
    assert len(passes) == len(result.history)
    fresh = task.run_pass(result.parameters, -math.inf)
    assert value == loss == pytest.approx(float(fresh.loss), rel=1e-12)


@pytest.mark.parametrize("options", [{"schedule": Geometric(-2.0, 1.0)}, {"max_iter": 1}])
def test_of_any_other_run_it_costs_one(options, monkeypatch):
    task = task_on(blobs(3, spread=1.5)[0])
    passes = count_passes(monkeypatch)
    start = place_rows("k-means++", task, np.random.default_rng(0))
    result = task.descend(start, **options)
    _, loss = task.hard_objective(result)
    assert len(passes) == len(result.history) + 1
    assert loss == float(task.run_pass(result.parameters, -math.inf).loss)


def test_runs_on_a_sample_are_compared_on_all_rows(monkeypatch):
    monkeypatch.setattr(pilot, "PILOT_ROWS", 200)
    monkeypatch.setattr(pilot, "ROWS_PER_CLUSTER", 50)
    X, _ = blobs(3, size=300, spread=1.5)
    compared, restart = [], runs._summary

    def kept(task, start, result):
        compared.append((task, result))
        return restart(task, start, result)

    monkeypatch.setattr(runs, "_summary", kept)
    settings = KernelPowerKMeans(3, feature_map="identity").get_params()
    assert make_tasks(make_views([X]), check_settings(settings), seed=0)[1] is not None
    model = KernelPowerKMeans(3, feature_map="identity", random_state=0).fit(X)
    assert len(compared) == 3
    for task, result in compared:
        assert task.prepared.engine.n_samples == len(X)
        loss = float(task.run_pass(result.parameters, -math.inf).loss)
        assert task.hard_objective(result)[1] == pytest.approx(loss, rel=1e-12)
    assert model.inertia_ == pytest.approx(model.restarts_[model.best_restart_]["hard_objective"], rel=1e-9)
