"""Majorise-minimise: pass, update, record, stop."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from powerkmeans.objective.updates import column_scale, objective_value, shift_norms, updated
from powerkmeans.solver.annealing import Schedule
from powerkmeans.types import (
    Float64Array,
    Iteration,
    OnIteration,
    Parameters,
    Problem,
    RunPass,
    SolverResult,
    Status,
)

# centroids closer than this share of the scatter are one
DISTINCT = 1e-10
# a hard cost below this share of the scatter leaves nothing to explain
NEGLIGIBLE_COST = 1e-14


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
    cluster sizes are unchanged and no centroid moved by more than ``tol`` of the scatter (squared), and
    the centroids are apart or waiting longer cannot part them.
    """
    parameters, history = start, list[Iteration]()
    recent: deque[_Snapshot] = deque(maxlen=schedule.window)
    status = Status.MAX_ITER
    for iteration in range(max_iter):
        s = schedule(iteration)
        sums = run_pass(parameters, s)
        new = updated(parameters, sums, problem)
        scatter = float(new.view_weights @ problem.scatter)
        largest_shift = float(np.max(shift_norms(parameters, new, problem)))
        line = Iteration(
            s=s,
            objective=objective_value(sums.loss, parameters, problem),
            hard_cost=float(sums.hard_cost),
            shift=float(np.sqrt(largest_shift)),
            n_distinct=count_distinct(new, problem),
            view_weights=tuple(parameters.view_weights.tolist()),
        )
        history.append(line)
        recent.append(_Snapshot(sums.sizes, largest_shift))
        parameters = new
        if on_iteration is not None and on_iteration(line):
            status = Status.INTERRUPTED
            break
        spread = line.hard_cost / float(np.sum(sums.sizes))
        settled = _settled(recent, tol * spread)
        if spread <= NEGLIGIBLE_COST * scatter:
            status = Status.EXACT
            break
        fixed_point = largest_shift == 0 and schedule.ended(iteration)
        if fixed_point or (settled and (line.n_distinct == len(new.centers) or schedule.ended(iteration))):
            status = Status.CONVERGED
            break
    return SolverResult(parameters, s, status, tuple(history))


def count_distinct(parameters: Parameters, problem: Problem) -> int:
    """Number of centroids that are not within ``DISTINCT`` of the scatter of an earlier one."""
    centers = parameters.centers * column_scale(parameters.view_weights, problem)
    norms = np.sum(centers**2, axis=1)
    squared = norms[:, None] + norms - 2 * centers @ centers.T
    threshold = DISTINCT * float(parameters.view_weights @ problem.scatter)
    close = np.tril(squared <= threshold, k=-1)
    return int(np.sum(~np.any(close, axis=1)))


def _settled(recent: deque[_Snapshot], threshold: float) -> bool:
    if len(recent) < (recent.maxlen or 0):
        return False
    sizes = recent[0].sizes
    return all(snap.largest_shift <= threshold and np.array_equal(snap.sizes, sizes) for snap in recent)
