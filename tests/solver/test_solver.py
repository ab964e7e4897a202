from __future__ import annotations

import math

import numpy as np
import pytest

from helpers import blobs, make_engine, make_problem, pass_over
from powerkmeans import critical_exponent
from powerkmeans.fitting.runs import choose_restart
from powerkmeans.models.model import Restart
from powerkmeans.objective.updates import entropic_weights, updated
from powerkmeans.solver.critical import critical_value
from powerkmeans.solver.mm import count_apart, minimise
from powerkmeans.solver.schedules import Geometric, Hard, Pace, Phase, Unfolding
from powerkmeans.solver.settling import Settling, Step
from powerkmeans.solver.starts import plus_plus, random_rows
from powerkmeans.support.draws import draw_by_weight
from powerkmeans.types import Parameters, Status


def solve(X, problem, start, schedule, **options):
    return minimise(pass_over(make_engine([X]), problem), start, schedule=schedule, problem=problem, **options)


def pace(done, moved=1.0, growing=False):
    return Pace(done, moved, growing)


def test_geometric_schedule():
    schedule = Geometric(-2.0, 1.5, 3)
    found = [schedule.s_init, *(schedule.after(0.0, pace(done)) for done in range(1, 7))]
    assert found == pytest.approx([-2, -2, -2, -3, -3, -3, -4.5])
    assert schedule.phase(-2.0, apart=False) is Phase.WAITING
    assert schedule.phase(-2.0, apart=True) is Phase.MAY_SETTLE
    assert schedule.phase(-200.0, apart=False) is Phase.ENDED
    assert schedule.phase(-1e9, apart=True) is Phase.ENDED
    limited = Geometric(-2.0, 1.5, 3, settle_below=-3.0, hand_over=-9.0)
    assert limited.phase(-2.9, apart=True) is Phase.WAITING
    assert limited.phase(-9.0, apart=True) is limited.phase(-1e9, apart=True) is Phase.HAND_OVER
    assert limited.phase(-9.0, apart=False) is Phase.WAITING
    assert limited.phase(-1e9, apart=False) is Phase.ENDED
    assert math.isfinite(schedule.after(0.0, pace(10**9)))
    assert Geometric(-2.0, 1.0, 3).phase(-2.0, apart=False) is Phase.ENDED
    assert Geometric(-2.0, 1.1, 9).window == 10
    assert Geometric(-2.0, 1.0, 9).window == 5


def test_unfolding_waits_while_clusters_separate_and_hurries_where_nothing_moves():
    schedule = Unfolding(-2.0, 1.1)
    assert schedule.after(-3.0, pace(5)) == pytest.approx(-3.3)
    assert schedule.after(-3.0, pace(5, growing=True)) == schedule.after(-3.0, pace(10**6, growing=True)) == -3.0
    assert Unfolding(-2.0, 1e300).after(-2.0, pace(5, moved=1e-5)) == pytest.approx(-2 * math.exp(60))
    assert schedule.after(-3.0, pace(5, moved=1e-5)) == pytest.approx(-3 * 1.1**3)
    assert Unfolding(-2.0, 1.0).after(-2.0, pace(5, moved=0.0)) == -2.0
    assert math.isfinite(schedule.after(-1e300, pace(5)))


def test_hard_schedule():
    assert Hard().s_init == Hard().after(-1.0, pace(5)) == -math.inf
    assert Hard().phase(-math.inf, apart=False) is Phase.ENDED


def test_a_schedule_hands_over_once_centroids_are_apart():
    X, _ = blobs(3, spread=1.0)
    problem = make_problem([X])
    start = Parameters(X[[0, 50, 100]].astype(float), np.ones(1))
    result = solve(X, problem, start, Geometric(-2.0, 1.1, 1, hand_over=-4.0), tol=0.0, max_iter=100)
    assert result.status is Status.CONVERGED
    assert -4.4 < result.s <= -4.0
    together = Parameters(np.repeat(X[:1], 3, axis=0).astype(float), np.ones(1))
    result = solve(X, problem, together, Geometric(-2.0, 1.1, 1, hand_over=-4.0), tol=0.0, max_iter=30)
    assert result.status is Status.MAX_ITER


def test_a_centroid_without_weight_keeps_its_place():
    X = np.array([[0.0], [1.0], [10.0]])
    problem = make_problem([X])
    old = Parameters(np.array([[0.5], [10.0], [99.0]]), np.ones(1))
    sums = pass_over(make_engine([X]), problem)(old, -math.inf)
    new = updated(old, sums, problem)
    assert new.centers.tolist() == [[0.5], [10.0], [99.0]]


def test_hard_passes_are_lloyd_steps():
    X, y = blobs()
    problem = make_problem([X])
    start = Parameters(X[[0, 50, 100]], np.ones(1))
    result = solve(X, problem, start, Hard(), tol=0.0, max_iter=100)
    assert result.status is Status.CONVERGED
    means = np.stack([X[y == j].mean(axis=0) for j in range(3)])
    assert result.parameters.centers == pytest.approx(means)


def test_every_sample_on_a_centroid_ends_the_run():
    X = np.repeat(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]]), 4, axis=0)
    problem = make_problem([X])
    start = Parameters(np.array([[0.1, 0.0], [0.9, 0.1], [0.0, 2.9], [0.5, 0.5]]), np.ones(1))
    result = solve(X, problem, start, Geometric(-1.0, 1.2, 1), tol=1e-4, max_iter=300)
    assert result.status is Status.EXACT
    assert np.all(np.isfinite(result.parameters.centers))


def test_a_listener_can_stop_the_run():
    X, _ = blobs()
    problem = make_problem([X])
    start = Parameters(X[:3], np.ones(1))
    result = solve(
        X, problem, start, Geometric(-1.0), tol=0.0, max_iter=50, on_iteration=lambda line: line.s < -1.05
    )
    assert result.status is Status.INTERRUPTED
    assert len(result.history) == 5


def test_distinct_centroids_are_counted():
    problem = make_problem([np.random.default_rng(0).normal(size=(50, 2))])
    centers = np.array([[0.0, 0.0], [1.0, 0.0], [1e-7, 0.0], [1.0, 1e-7], [0.0, 1.0]])
    assert count_apart(Parameters(centers, np.ones(1)), problem, 1.0) == 3
    assert count_apart(Parameters(centers, np.ones(1)), problem, 1e5) == 1


def test_centroids_are_apart_by_the_weights_of_views():
    problem = make_problem([np.zeros((4, 1)), np.zeros((4, 1))], reference=[1.0, 1.0])
    centers = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    for weights, expected in (([0.5, 0.5], 3), ([1 - 1e-9, 1e-9], 2), ([1e-9, 1 - 1e-9], 2)):
        assert count_apart(Parameters(centers, np.array(weights)), problem, 1.0) == expected


def test_a_run_goes_on_from_any_position_with_the_same_bits():
    X, _ = blobs(3, 3, 20, 1.0)
    problem, heard, limits = make_problem([X]), [], {"tol": 1e-6, "max_iter": 60}
    start, schedule = Parameters(X[[0, 25, 45]], np.ones(1)), Unfolding(-1.0, 1.3)
    whole = solve(X, problem, start, schedule, on_position=heard.append, **limits)
    assert len(heard) == len(whole.history) - 1 > 8
    for begun in heard[::4]:
        again = solve(X, problem, start, schedule, begun=begun, **limits)
        assert again.history == whole.history
        assert np.array_equal(again.parameters.centers, whole.parameters.centers)


def test_nothing_is_left_to_explain_where_steps_are_rounding_or_small_beside_the_spread():
    sizes = np.ones(2)
    assert Step(sizes, 0.5e-24, 0.0).explains_all(tol=1e-4, scatter=1.0)
    assert not Step(sizes, 2e-24, 0.0).explains_all(tol=1e-4, scatter=1.0)
    assert Step(sizes, 0.9e-18, 1e-14).explains_all(tol=1e-4, scatter=1.0)
    assert not Step(sizes, 0.0, 2e-14).explains_all(tol=1e-4, scatter=1.0)


def test_entropic_weights_have_a_floor_and_limits():
    losses = np.array([1.0, 2.0, 4.0])
    assert entropic_weights(losses, 1e12) == pytest.approx([1 / 3] * 3)
    tiny = entropic_weights(losses, 1e-6)
    assert tiny[0] == pytest.approx(1.0)
    assert np.all(tiny > 0)
    assert np.sum(entropic_weights(losses * 1e300, 1.0)) == pytest.approx(1.0)


def test_plus_plus_takes_no_row_twice_while_others_remain():
    rng = np.random.default_rng(0)
    rows = np.concatenate([np.zeros((1, 2)), 1e-9 * rng.normal(size=(5, 2)), rng.normal(size=(3, 2))])
    for seed in range(20):
        chosen = plus_plus(rows, np.ones(9), 9, np.random.default_rng(seed))
        assert sorted(chosen) == list(range(9))
    assert len(plus_plus(rows[:3], np.ones(3), 5, rng)) == 5
    assert sorted(random_rows(rows, np.ones(9), 9, rng)) == list(range(9))


def test_plus_plus_finds_separated_clusters():
    X, y = blobs(n_clusters=6, spread=0.05, seed=3)
    for seed in range(10):
        chosen = plus_plus(X, np.ones(len(X)), 6, np.random.default_rng(seed))
        assert len(set(y[chosen])) == 6


@pytest.mark.parametrize(
    ("inits", "values", "kept"),
    [
        (["cloud", "k-means++"], [100.0, 99.9995], 0),
        (["cloud", "k-means++"], [100.0, 99.99], 1),
        (["cloud", "cloud", "k-means++"], [100.0, 99.99, 99.9895], 1),
        (["k-means++", "k-means++"], [100.0, 99.9], 1),
    ],
)
def test_the_best_cloud_is_kept_unless_clearly_beaten(inits, values, kept):
    runs = [
        Restart(init, -1.0, -20.0, 9, Status.CONVERGED, value, value)
        for init, value in zip(inits, values, strict=True)
    ]
    assert choose_restart(runs) == kept


def test_critical_value_without_flat_part_is_closed_form():
    sharp = np.diag([0.1, 0.05])
    assert critical_value(sharp, np.zeros((2, 2))) == pytest.approx(1 - 1 / 0.2)
    assert critical_value(np.eye(1), np.zeros((1, 1))) == 0.0
    # weights of one sample beside which all others vanish leave nothing of the moments
    assert -math.inf < critical_value(np.zeros((2, 2)), np.zeros((2, 2))) < -1e300


def test_no_stop_while_centroids_are_together():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 1.0, (100, 12)) for c in (-0.6, 0.6)])
    X -= X.mean(axis=0)
    problem = make_problem([X])
    # at s = -0.2 the collapse is stable: the pair closes up, and must be waited for
    assert critical_exponent(X) < -0.4
    start = Parameters(1e-3 * rng.normal(size=(2, 12)), np.ones(1))
    result = solve(X, problem, start, Geometric(-0.2, 1.1, 2), tol=1e-2, max_iter=300)
    assert result.status is Status.CONVERGED
    assert result.history[3].n_distinct == 1
    assert result.history[-1].n_distinct == 2
    assert result.history[3].groups == (0, 0)
    assert result.history[-1].groups == (0, 1)


@pytest.mark.parametrize("settle_below", [0.0, -3.0])
def test_no_stop_before_the_schedule_may_settle(settle_below):
    X, _ = blobs()
    problem = make_problem([X])
    result = solve(
        X,
        problem,
        Parameters(X[[0, 50, 100]], np.ones(1)),
        Geometric(-1.0, 1.1, 1, settle_below),
        tol=1e3,
        max_iter=300,
    )
    assert result.status is Status.CONVERGED
    assert (result.s <= -3.0) == (settle_below == -3.0)


def settling(*moved, sizes=None):
    steps = Settling(4)
    for index, one in enumerate(moved):
        steps.add(Step(np.ones(2) if sizes is None else sizes[index], one, 1.0))
    return steps


def test_growing_steps_are_not_convergence():
    assert settling(4.0, 3.0, 2.0, 1.0).settled(5.0)
    assert settling(1.0, 3.0, 1.0, 3.0).settled(5.0)
    assert not settling(1.0, 1.0, 2.0, 3.0).settled(5.0)
    assert not settling(4.0, 3.0, 2.0, 1.0).settled(3.5)
    assert settling(9.0, 4.0, 3.0, 2.0, 1.0).settled(5.0)
    assert not settling(1.0, 1.0).settled(5.0)
    sizes = [np.ones(2)] * 3 + [np.array([1.0, 2.0])]
    assert not settling(4.0, 3.0, 2.0, 1.0, sizes=sizes).settled(5.0)


def test_what_ends_a_run_depends_on_the_phase():
    moving, still, resting = settling(9.0), settling(4.0, 3.0, 2.0, 1.0), settling(9.0, 0.0)
    for phase in (Phase.WAITING, Phase.HAND_OVER):
        assert not any(steps.ends(phase, 5.0) for steps in (moving, still, resting))
    assert [steps.ends(Phase.MAY_SETTLE, 5.0) for steps in (moving, still, resting)] == [False, True, False]
    assert [steps.ends(Phase.ENDED, 5.0) for steps in (moving, still, resting)] == [False, True, True]


def test_the_pace_counts_iterations_and_sees_steps_grow():
    steps = settling(1.0, 2.0)
    assert steps.pace == Pace(2, 2.0, True)
    steps.add(Step(np.ones(2), 1.0, 0.0))
    assert steps.pace == Pace(3, 0.0, False)


def test_thinning_keeps_heavy_items_and_their_weight():
    rng = np.random.default_rng(0)
    weight = np.concatenate([[1000.0], np.ones(99)])
    totals = []
    for _ in range(300):
        kept, stands_for = draw_by_weight(rng.standard_exponential(100), weight, 20)
        assert len(kept) == 20
        assert kept[0] == 0
        assert stands_for[0] == pytest.approx(1000.0)
        totals.append(stands_for.sum())
    assert np.mean(totals) == pytest.approx(weight.sum(), rel=0.01)
