"""What every membership must be: those that are registered, and one that the package does not know."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import blobs, make_engine, make_views, pass_over, quick
from powerkmeans.fitting.collapse import find_collapse
from powerkmeans.fitting.problem import make_task
from powerkmeans.inputs.settings import check_settings
from powerkmeans.objective.membership import MEMBERSHIPS
from powerkmeans.objective.updates import updated
from powerkmeans.solver.critical import growth_rate
from powerkmeans.solver.mm import minimise
from powerkmeans.solver.schedules import Geometric
from powerkmeans.types import Parameters, Problem
from toy_membership import Welsch

KNOWN = {**MEMBERSHIPS, Welsch.name: Welsch}
DISTANCES = np.geomspace(1e-3, 30, 60)
REFERENCE = 1.7


@pytest.fixture(params=sorted(KNOWN))
def name(request, monkeypatch):
    monkeypatch.setitem(MEMBERSHIPS, request.param, KNOWN[request.param])
    return request.param


@pytest.fixture(params=[1.4, 2.0, 3.0])
def membership(name, request):
    return KNOWN[name](request.param)


def parts(membership, distance=DISTANCES, reference=REFERENCE):
    """Degree, h, h' and the residual, each as long as the distances."""
    degree = membership.degrees(distance, reference, np) * np.ones_like(distance)
    h = membership.divergence(distance, degree, reference, np)
    return degree, h, membership.attraction(degree, np), membership.residual(degree, np)


def slope(function, x):
    step = 1e-5 * x
    return (function(x + step) - function(x - step)) / (2 * step)


def test_the_name_is_that_of_the_registry(name):
    made = MEMBERSHIPS[name](1.5)
    assert (made.name, made.fuzziness) == (name, 1.5)


def test_divergence_increases_and_is_concave(membership):
    degree, h, attraction, _ = parts(membership)
    assert np.all(np.diff(h) > 0)
    assert np.all(np.diff(attraction) <= 0)
    assert np.all((degree > 0) & (degree <= 1))
    assert np.all(h <= DISTANCES * (1 + 1e-12))
    assert parts(membership, np.zeros(1))[1] == 0


def test_attraction_is_the_slope_of_the_divergence(membership):
    _, _, attraction, _ = parts(membership)
    assert slope(lambda d: parts(membership, d)[1], DISTANCES) == pytest.approx(attraction, rel=1e-6, abs=1e-9)


def test_attraction_is_a_power_of_the_degree(membership):
    degree, _, attraction, _ = parts(membership)
    logarithm = membership.log_degrees(DISTANCES, REFERENCE, np)
    assert np.log(degree) == pytest.approx(logarithm * np.ones_like(degree), abs=1e-12)
    assert attraction == pytest.approx(degree**membership.fuzziness)


def test_divergence_is_the_pull_and_the_residual(membership):
    """Scaled by both arguments, ``h`` is its slopes times them; the residual is the slope by the reference."""
    _, h, attraction, residual = parts(membership)
    assert attraction * DISTANCES + residual * REFERENCE == pytest.approx(h, rel=1e-12, abs=1e-15)
    by_reference = slope(lambda eta: parts(membership, DISTANCES, eta)[1], REFERENCE)
    assert by_reference == pytest.approx(residual, rel=1e-5, abs=1e-8)
    assert parts(membership, 3 * DISTANCES, 3 * REFERENCE)[1] == pytest.approx(3 * h)


def test_far_samples_count_less_only_where_the_membership_is_bounded(membership):
    degree, *_ = parts(membership)
    assert membership.bounded == (degree[-1] < 0.5)
    assert membership.bounded or np.all(degree == 1)
    if membership.bounded:
        assert membership.distances(degree, REFERENCE, np) == pytest.approx(DISTANCES, rel=1e-6)


def test_elasticity_is_how_logarithms_change(membership):
    degree, *_ = parts(membership)
    steep, curved = membership.elasticity(DISTANCES, degree, REFERENCE, np)
    by_log = slope(lambda d: np.log(parts(membership, d)[1]), DISTANCES) * DISTANCES
    assert steep == pytest.approx(by_log, rel=1e-6, abs=1e-9)
    by_log = slope(lambda d: np.log(parts(membership, d)[2]), DISTANCES) * DISTANCES
    assert curved == pytest.approx(-by_log, rel=1e-5, abs=1e-8)
    at_zero = membership.elasticity(np.zeros(1), np.ones(1), REFERENCE, np)
    assert np.all(np.isfinite(at_zero))


@pytest.mark.parametrize("s", [-0.5, -2.0, -8.0])
def test_displacements_grow_as_predicted(name, s):
    X, _ = blobs(4, 8, 60, 2.0)
    weight = np.random.default_rng(0).uniform(0.2, 2, len(X))
    settings = quick(4, membership=name, feature_map="identity", fuzziness=1.6).get_params()
    task = make_task(make_views([X], weight), check_settings(settings), seed=0)
    collapse = find_collapse(task)
    direction = np.linalg.eigh((1 - s) * collapse.sharp + collapse.flat)[1][:, -1]
    signs = 1e-5 * np.sqrt(task.problem.scatter[0]) * np.array([1.0, -1.0, 2.0, -2.0])
    start = Parameters(collapse.point + signs[:, None] * direction, collapse.view_weights)
    moved = updated(start, task.run_pass(start, s), task.problem)
    measured = np.mean((moved.centers - collapse.point) @ direction / signs)
    assert measured == pytest.approx(growth_rate(s, collapse.sharp, collapse.flat), rel=1e-3)


@pytest.mark.parametrize("relaxation", [1.0, 1.8])
def test_the_objective_falls_within_one_exponent(membership, relaxation):
    rng = np.random.default_rng(1)
    views = [rng.normal(size=(80, 3)) * 2, rng.normal(size=(80, 2))]
    views[0][:40] += 4
    scatter = np.array([np.mean(np.sum((v - v.mean(0)) ** 2, axis=1)) for v in views])
    problem = Problem(membership, (0, 3, 5), 0.7 * scatter, scatter, entropy=20.0)
    start = Parameters(rng.normal(size=(3, 5)), np.array([0.5, 0.5]))
    run_pass = pass_over(make_engine(views, rng.uniform(0.5, 2, 80)), problem)
    schedule = Geometric(-2.0, 1.0, relaxation=relaxation)
    history = minimise(run_pass, start, schedule=schedule, problem=problem, tol=0.0, max_iter=40).history
    values = np.array([line.objective for line in history])
    assert np.all(np.diff(values) <= 1e-10 * np.abs(values[0]))
    assert values[-1] < values[0]
