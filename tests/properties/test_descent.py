"""At fixed s the objective never rises: both memberships, any m, any weights, any views, some of them missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helpers import make_engine, make_present, make_problem, pass_over
from powerkmeans.solver.mm import minimise
from powerkmeans.solver.schedules import Geometric, Hard
from powerkmeans.types import Parameters


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, k, n_views = draw(st.integers(3, 40)), draw(st.integers(1, 5)), draw(st.integers(1, 3))
    views = [rng.normal(size=(n, draw(st.integers(1, 5)))) for _ in range(n_views)]
    if draw(st.booleans()):
        views = [np.round(v) for v in views]  # ties, repeated rows and samples on centroids
    views = [v - v.mean(axis=0) + 1e-9 * rng.normal(size=v.shape[1]) for v in views]
    weight = rng.uniform(0.01, 10, n) if draw(st.booleans()) else np.ones(n)
    name = draw(st.sampled_from(["fuzzy", "possibilistic"]))
    entropy = draw(st.sampled_from([1e-9, 0.1, 1.0, 10.0, 1000.0]))
    problem = make_problem(
        views, name, draw(st.floats(1.1, 4)), reference=rng.uniform(0.1, 3, n_views), entropy=entropy
    )
    alpha = rng.dirichlet(np.ones(n_views))
    alpha = np.maximum(alpha, 1e-9) / np.sum(np.maximum(alpha, 1e-9))
    present = make_present(n, n_views, rng) if n_views > 1 and draw(st.booleans()) else None
    baseline = rng.normal(size=n_views) if draw(st.booleans()) else None
    problem = replace(problem, baseline=baseline)
    wide = np.hstack(views)
    start = wide[rng.integers(n, size=k)] + draw(st.sampled_from([0.0, 0.3])) * rng.normal(size=(k, wide.shape[1]))
    return make_engine(views, weight, present=present), problem, Parameters(start, alpha)


@given(problems(), st.sampled_from([-0.2, -1.0, -3.0, -15.0, -100.0]), st.sampled_from([0.5, 1.0, 1.5, 1.8, 1.99]))
def test_objective_never_rises_at_fixed_s(drawn, s, relaxation):
    engine, problem, start = drawn
    result = minimise(
        pass_over(engine, problem),
        start,
        schedule=Geometric(s, 1.0, 1, relaxation=relaxation),
        problem=problem,
        tol=0.0,
        max_iter=25,
    )
    values = np.array([line.objective for line in result.history])
    scale = max(np.max(np.abs(values)), problem.entropy, engine.n_samples * 1e-12)
    assert np.all(np.isfinite(values))
    assert np.all(np.diff(values) <= 1e-12 * scale)


@given(problems())
def test_hard_objective_never_rises(drawn):
    engine, problem, start = drawn
    run_pass = pass_over(engine, problem)
    result = minimise(run_pass, start, schedule=Hard(), problem=problem, tol=0.0, max_iter=15)
    values = np.array([line.objective for line in result.history])
    assert np.all(np.diff(values) <= 1e-12 * max(np.max(np.abs(values)), problem.entropy, 1e-12))
