"""The fast code against the literal algorithms, to 1e-9."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import make_engine, make_present, make_problem, pass_over
from oracle import Algorithm2, algorithm_1, fourier_features
from powerkmeans.features.maps.fourier import FourierMap
from powerkmeans.solver.mm import minimise
from powerkmeans.solver.schedules import Geometric
from powerkmeans.types import Parameters


def relative(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return np.max(np.abs(a - b)) / np.max(np.abs(b))


def run(views, start, alpha, problem, *, s_init, n_iter, factor=1.04, every=2, weight=None, present=None):
    engine = make_engine(views, weight, present=present)
    return minimise(
        pass_over(engine, problem),
        Parameters(start, np.asarray(alpha, dtype=float)),
        schedule=Geometric(s_init, factor, every),
        problem=problem,
        tol=0.0,
        max_iter=n_iter,
    )


@pytest.mark.parametrize("s_init", [-0.3, -1.0, -5.0, -20.0])
def test_algorithm_1(s_init):
    rng = np.random.default_rng(0)
    X, omega = rng.normal(size=(30, 3)), rng.normal(size=(3, 7))
    phi = fourier_features(X, omega)
    fast_phi = FourierMap(np.zeros(3), omega)(X, np)
    assert relative(fast_phi, phi) < 1e-12
    mean = phi.mean(axis=0)
    start = phi[:4] + 0.01 * rng.normal(size=(4, 14))
    sequence = [s_init * 1.04 ** (t // 3) for t in range(25)]
    theta, objectives = algorithm_1(phi, start, sequence)
    result = run([fast_phi - mean], start - mean, [1.0], make_problem([phi]), s_init=s_init, n_iter=25, every=3)
    assert relative(result.parameters.centers + mean, theta) < 1e-9
    assert relative([line.objective for line in result.history], objectives) < 1e-9
    assert [line.s for line in result.history] == pytest.approx(sequence, rel=1e-13)


def two_views(seed=0, n=25):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], [9, 8, n - 17])
    first = rng.normal(size=(3, 4))[y] + 0.4 * rng.normal(size=(n, 4))
    second = rng.normal(size=(3, 6))[y] + 0.8 * rng.normal(size=(n, 6))
    return [v - v.mean(axis=0) for v in (first, second)], rng


@pytest.mark.parametrize("m", [1.5, 2.0, 3.0])
@pytest.mark.parametrize("s_init", [-1.0, -6.0])
def test_algorithm_2_profiled(m, s_init):
    views, rng = two_views()
    problem = make_problem(views, "possibilistic", m, entropy=20.0)
    start = np.hstack([v[[0, 10, 20]] for v in views]) + 0.01 * rng.normal(size=(3, 10))
    eta = [problem.reference_distance] * 3
    oracle = Algorithm2(views, [start[:, :4], start[:, 4:]], eta, alpha=[0.5, 0.5], entropy=20.0, m=m)
    objectives = []
    for t in range(15):
        s = s_init * 1.04 ** (t // 2)
        oracle.u = oracle.best_u()
        objectives.append(oracle.objective(s))
        oracle.step(s, profiled=True)
    result = run(views, start, [0.5, 0.5], problem, s_init=s_init, n_iter=15)
    assert relative(result.parameters.centers, np.hstack(oracle.theta)) < 1e-9
    assert relative(result.parameters.view_weights, oracle.alpha) < 1e-9
    assert relative([line.objective for line in result.history], objectives) < 1e-9


@pytest.mark.parametrize(("membership", "m"), [("fuzzy", 2.0), ("possibilistic", 2.0), ("possibilistic", 1.5)])
@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("baseline", [None, [3.0, -1.0]])
def test_algorithm_2_with_missing_views_and_weights(membership, m, missing, baseline):
    views, rng = two_views(2)
    n = len(views[0])
    present = make_present(n, 2, rng, missing) if missing else None
    weight = rng.uniform(0.2, 3, n)
    offset = None if baseline is None else np.array(baseline)
    problem = make_problem(views, membership, m, reference=[1.0, 3.0], entropy=15.0, baseline=offset)
    start = np.hstack([v[[0, 10, 20]] for v in views]) + 0.01 * rng.normal(size=(3, 10))
    fuzzy = membership == "fuzzy"
    oracle = Algorithm2(
        views,
        [start[:, :4], start[:, 4:]],
        [problem.reference_distance] * 3,
        alpha=[0.3, 0.7],
        entropy=15.0,
        m=m,
        present=present,
        weight=weight,
        fuzzy=fuzzy,
        baseline=baseline,
    )
    objectives = []
    for t in range(12):
        s = -2.0 * 1.04 ** (t // 2)
        oracle.u = oracle.best_u()
        objectives.append(oracle.objective(s))
        oracle.step(s, profiled=True)
    # what an absent row holds must not matter
    spoiled = [v.copy() for v in views]
    if present is not None:
        for index, view in enumerate(spoiled):
            view[~present[:, index]] = np.nan
    result = run(spoiled, start, [0.3, 0.7], problem, s_init=-2.0, n_iter=12, weight=weight, present=present)
    assert relative(result.parameters.centers, np.hstack(oracle.theta)) < 1e-9
    assert relative(result.parameters.view_weights, oracle.alpha) < 1e-9
    assert relative([line.objective for line in result.history], objectives) < 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_profiled_step_is_never_above_the_literal_one(seed):
    views, rng = two_views(seed)
    problem = make_problem(views, "possibilistic", 2.0, entropy=20.0)
    start = np.hstack([v[[0, 10, 20]] for v in views]) + 0.01 * rng.normal(size=(3, 10))
    s = -3.0

    def state():
        fresh = Algorithm2(
            views,
            [start[:, :4], start[:, 4:]],
            [problem.reference_distance] * 3,
            alpha=[0.5, 0.5],
            entropy=20.0,
            m=2.0,
        )
        fresh.u = np.random.default_rng(seed).uniform(0.1, 0.9, fresh.u.shape)  # any state of U
        return fresh

    literal = state()
    before = literal.objective(s)
    found = run(views, start, [0.5, 0.5], problem, s_init=s, n_iter=1, factor=1.0)
    assert found.history[0].objective <= before * (1 + 1e-12)
    # from the same state, the library's objective is the literal one minimised over U
    literal.u = literal.best_u()
    assert found.history[0].objective == pytest.approx(literal.objective(s), rel=1e-12)


def test_algorithm_2_has_the_same_fixed_points():
    views, rng = two_views(1)
    problem = make_problem(views, "possibilistic", 2.0, entropy=30.0)
    start = np.hstack([v[[0, 10, 20]] for v in views]) + 0.01 * rng.normal(size=(3, 10))
    s = -4.0
    result = run(views, start, [0.5, 0.5], problem, s_init=s, n_iter=3000, factor=1.0)
    found = result.parameters
    eta = [problem.reference_distance] * 3
    literal = Algorithm2(
        views,
        [found.centers[:, :4], found.centers[:, 4:]],
        eta,
        alpha=found.view_weights,
        entropy=30.0,
        m=2.0,
    )
    literal.step(s)
    assert relative(np.hstack(literal.theta), found.centers) < 1e-9
    assert relative(literal.alpha, found.view_weights) < 1e-9

    other = Algorithm2(views, [start[:, :4], start[:, 4:]], eta, alpha=[0.5, 0.5], entropy=30.0, m=2.0)
    for _ in range(400):
        other.step(s)
    again = run(views, np.hstack(other.theta), other.alpha, problem, s_init=s, n_iter=1, factor=1.0)
    assert relative(again.parameters.centers, np.hstack(other.theta)) < 1e-8
    assert relative(again.parameters.view_weights, other.alpha) < 1e-8
