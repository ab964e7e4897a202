"""Majorise-minimise: pass, update, record, stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from powerkmeans.objective.distances import squared_distances
from powerkmeans.objective.space import gram_matrix
from powerkmeans.objective.updates import column_scale, objective_value, shift_norms, updated
from powerkmeans.solver.schedules import QUIET, Phase, Schedule
from powerkmeans.solver.settling import STILL, Settling, Step
from powerkmeans.support.memory import FEW_ENTRIES
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


class Position(NamedTuple):
    """Where a run has got to: what the next pass will see, the story so far, and the last steps of it."""

    parameters: Parameters
    s: float
    history: tuple[Iteration, ...]
    recent: tuple[Step, ...]


def minimise(
    run_pass: RunPass,
    start: Parameters,
    *,
    schedule: Schedule,
    problem: Problem,
    tol: float,
    max_iter: int,
    on_iteration: OnIteration | None = None,
    begun: Position | None = None,
    on_position: Callable[[Position], None] | None = None,
) -> SolverResult:
    """Follow the annealed objective downhill from ``start``, or from where a run from there had got to.

    Within one value of ``s`` the objective never rises. The run ends as the phase of the schedule says: mostly
    once, over its window, cluster sizes are unchanged, no centroid's squared step exceeded ``tol`` times the mean
    squared distance to the nearest centroid, and steps are not growing. Then the last step, too small to matter,
    is not taken, unless it turns the weights of views: the result is what the last pass saw. ``on_position`` hears
    of every position that a run goes on from.
    """
    parameters, s, before, recent = begun or Position(start, schedule.s_init, (), ())
    history, settling = list(before), Settling(schedule.window, recent, len(before))
    for iteration in range(len(before), max_iter):
        s = schedule.after(s, settling.pace) if iteration else s
        sums = run_pass(parameters, s)
        new = updated(parameters, sums, problem, schedule.relaxation)
        moved = float(np.max(shift_norms(parameters, new, problem))) / schedule.relaxation**2
        line = _line(s, parameters, sums, moved, problem)
        step = Step(sums.sizes, moved, spread_within(sums, new, problem))
        history.append(line)
        settling.add(step)
        if on_iteration is not None and on_iteration(line):
            return SolverResult(new, s, Status.INTERRUPTED, tuple(history))
        if step.explains_all(tol, float(new.view_weights @ problem.scatter)):
            return SolverResult(new, s, Status.EXACT, tuple(history))
        phase = schedule.phase(s, line.n_distinct == len(new.centers))
        settled = settling.ends(phase, tol)
        turned = float(np.max(np.abs(new.view_weights - parameters.view_weights)))
        if phase is Phase.HAND_OVER or (settled and turned > tol):
            return SolverResult(new, s, Status.CONVERGED, tuple(history))
        if settled:
            return SolverResult(parameters, s, Status.CONVERGED, tuple(history), sums)
        parameters = new
        if on_position is not None:
            on_position(Position(parameters, s, tuple(history), settling.recent))
    return SolverResult(parameters, s, Status.MAX_ITER, tuple(history))


def spread_within(sums: PassStatistics, parameters: Parameters, problem: Problem) -> float:
    """Mean squared distance to the nearest centroid; bounded, as a far outlier's pull is, by the reference."""
    spread = float(sums.hard_cost) / float(np.sum(sums.sizes))
    return min(spread, float(parameters.view_weights @ problem.reference_distance))


def count_apart(parameters: Parameters, problem: Problem, spread: float) -> int:
    """Number of centroids that have separated from all earlier ones."""
    return _count(groups_together(parameters, problem, spread))


def groups_together(parameters: Parameters, problem: Problem, spread: float) -> Array:
    """For each centroid the first of those that it has not separated from, itself if it leads."""
    close = _between(parameters, problem) <= QUIET * spread
    close.flat[:: len(close) + 1] = True
    if np.count_nonzero(close) == len(close):
        return np.arange(len(close))
    leader = np.argmax(np.tril(close), axis=1)
    while not np.array_equal(leader, leader[leader]):
        leader = leader[leader]
    return leader


def _count(groups: Array) -> int:
    """How many groups there are: of each one centroid leads."""
    return int(np.count_nonzero(groups == np.arange(len(groups))))


def _between(parameters: Parameters, problem: Problem) -> Float64Array:
    """Squared distances between the centroids, (k, k), less what of them may be rounding."""
    if not problem.dual:
        points = parameters.centers * column_scale(parameters.view_weights, problem)
        norms = np.vecdot(points, points)
        few = len(points) ** 2 * points.shape[1] <= FEW_ENTRIES  # differences take more work, and less time
        between = cdist(points, points, "sqeuclidean") if few else squared_distances(points, points, np)
        return between - STILL * (norms[:, None] + norms)
    inner = gram_matrix(parameters.centers, parameters.view_weights, problem)
    norms = np.diagonal(inner)
    return norms[:, None] + norms - 2 * inner - 1e-14 * float(np.max(norms, initial=0.0))


def _line(s: float, parameters: Parameters, sums: PassStatistics, moved: float, problem: Problem) -> Iteration:
    groups = groups_together(parameters, problem, spread_within(sums, parameters, problem))
    return Iteration(
        s=s,
        objective=objective_value(sums.loss, parameters, problem),
        hard_cost=float(sums.hard_cost),
        shift=float(np.sqrt(moved)),
        n_distinct=_count(groups),
        view_weights=tuple(parameters.view_weights.tolist()),
        groups=tuple(groups.tolist()),
    )
