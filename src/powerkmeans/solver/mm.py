"""Majorise-minimise: pass, update, record, stop."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from powerkmeans.objective.distances import squared_distances
from powerkmeans.objective.space import gram_matrix
from powerkmeans.objective.updates import column_scale, objective_value, shift_norms, updated
from powerkmeans.solver.schedules import Pace, Schedule
from powerkmeans.types import (
    Array,
    Float64Array,
    Iteration,
    OnIteration,
    Parameters,
    PassStatistics,
    Problem,
    RunPass,
    SolverResult,
    Status,
)

# centroids whose squared distance is below this share of the spread within clusters have not separated
APART = 1e-4
# a spread below this share of the scatter leaves nothing to explain
NEGLIGIBLE = 1e-14
# and a squared step below this share is rounding, as is a squared distance between centroids
STILL = 1e-24


class _Snapshot(NamedTuple):
    sizes: Float64Array
    largest_shift: float


def minimise(
    run_pass: RunPass,
    start: Parameters,
    *,
    schedule: Schedule,
    problem: Problem,
    tol: float,
    max_iter: int,
    on_iteration: OnIteration | None = None,
) -> SolverResult:
    """Follow the annealed objective downhill from ``start``.

    Within one value of ``s`` the objective never rises. The run stops once, over the schedule's window,
    cluster sizes are unchanged and no centroid's squared step exceeded ``tol`` times the mean squared
    distance to the nearest centroid; the steps are not growing; the schedule may settle; and the
    centroids are apart, or waiting longer cannot part them. Centroids that are apart also suffice where the
    schedule hands over to k-means.
    """
    parameters, history = start, list[Iteration]()
    recent: deque[_Snapshot] = deque(maxlen=schedule.window)
    status, s, waited = Status.MAX_ITER, schedule.s_init, 0
    for iteration in range(max_iter):
        sums = run_pass(parameters, s)
        new = updated(parameters, sums, problem, schedule.relaxation)
        largest_shift = float(np.max(shift_norms(parameters, new, problem))) / schedule.relaxation**2
        line = _line(s, parameters, sums, largest_shift, problem)
        history.append(line)
        recent.append(_Snapshot(sums.sizes, largest_shift))
        parameters = new
        if on_iteration is not None and on_iteration(line):
            status = Status.INTERRUPTED
            break
        spread = spread_within(sums, new, problem)
        scatter = float(new.view_weights @ problem.scatter)
        still = largest_shift <= max(tol * spread, STILL * scatter)
        if still and spread <= NEGLIGIBLE * scatter:
            status = Status.EXACT
            break
        ended, apart = schedule.ended(s), line.n_distinct == len(new.centers)
        may_stop = ended or (schedule.settles(s) and apart)
        settled = may_stop and (_settled(recent, tol * spread) or (ended and largest_shift == 0))
        if settled or (apart and schedule.hands_over(s)):
            status = Status.CONVERGED
            break
        if iteration + 1 < max_iter:
            waited += 1
            following = schedule.after(s, _pace(iteration + 1, waited, recent, spread))
            s, waited = following, 0 if following != s else waited
    return SolverResult(parameters, s, status, tuple(history))


def spread_within(sums: PassStatistics, parameters: Parameters, problem: Problem) -> float:
    """Mean squared distance to the nearest centroid; bounded, as a far outlier's pull is, by the reference."""
    spread = float(sums.hard_cost) / float(np.sum(sums.sizes))
    return min(spread, float(parameters.view_weights @ problem.reference_distance))


def count_apart(parameters: Parameters, problem: Problem, spread: float) -> int:
    """Number of centroids that have separated from all earlier ones."""
    return len(np.unique(groups_together(parameters, problem, spread)))


def groups_together(parameters: Parameters, problem: Problem, spread: float) -> Array:
    """For each centroid the first of those that it has not separated from, itself if it leads."""
    close = np.tril(_between(parameters, problem) <= APART * spread)
    np.fill_diagonal(close, True)
    leader = np.argmax(close, axis=1)
    while not np.array_equal(leader, leader[leader]):
        leader = leader[leader]
    return leader


def _between(parameters: Parameters, problem: Problem) -> Float64Array:
    """Squared distances between the centroids, (k, k), less what of them may be rounding."""
    if not problem.dual:
        points = parameters.centers * column_scale(parameters.view_weights, problem)
        norms = np.vecdot(points, points)
        return squared_distances(points, points, np) - STILL * (norms[:, None] + norms)
    inner = gram_matrix(parameters.centers, parameters.view_weights, problem)
    norms = np.diagonal(inner)
    return norms[:, None] + norms - 2 * inner - 1e-14 * float(np.max(norms, initial=0.0))


def _line(
    s: float, parameters: Parameters, sums: PassStatistics, largest_shift: float, problem: Problem
) -> Iteration:
    groups = groups_together(parameters, problem, spread_within(sums, parameters, problem))
    return Iteration(
        s=s,
        objective=objective_value(sums.loss, parameters, problem),
        hard_cost=float(sums.hard_cost),
        shift=float(np.sqrt(largest_shift)),
        n_distinct=len(np.unique(groups)),
        view_weights=tuple(parameters.view_weights.tolist()),
        groups=tuple(groups.tolist()),
    )


def _pace(done: int, waited: int, recent: deque[_Snapshot], spread: float) -> Pace:
    last = recent[-1].largest_shift
    growing = len(recent) > 1 and last > recent[-2].largest_shift
    return Pace(done, waited, last / spread if spread > 0 else 0.0, growing)


def _settled(recent: deque[_Snapshot], threshold: float) -> bool:
    """Whether sizes stand still and steps are small and not growing, over the whole window."""
    if len(recent) < (recent.maxlen or 0):
        return False
    shifts = [snapshot.largest_shift for snapshot in recent]
    growing = len(shifts) > 1 and shifts[-1] > max(shifts[:-1])
    same_sizes = all(np.array_equal(snapshot.sizes, recent[0].sizes) for snapshot in recent)
    return max(shifts) <= threshold and not growing and same_sizes
