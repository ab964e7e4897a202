"""After the annealing: finish as k-means, and move centroids that serve little to where they save most."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from powerkmeans.fitting.listener import Listener
from powerkmeans.fitting.task import Task
from powerkmeans.model import Restart
from powerkmeans.objective.updates import column_scale
from powerkmeans.solver.annealing import Geometric, Hard
from powerkmeans.solver.relocate import propose_move
from powerkmeans.types import Array, Float64Array, OnIteration, Parameters, SolverResult, Status

# a move must lower the hard objective by this share; less is within the features' own error
MARGIN = 0.01


def harden(task: Task, result: SolverResult, on_iteration: OnIteration) -> SolverResult:
    """Follow a converged annealing with k-means steps, to the optimum that it approaches.

    The exponent of the result stays that of the annealing: soft memberships are taken at it.
    """
    left = task.settings.max_iter - len(result.history)
    if result.status is not Status.CONVERGED:
        return result
    if left < 1:
        return result._replace(status=Status.MAX_ITER)
    hard = task.minimise(result.parameters, Hard(), on_iteration, left)
    return hard._replace(s=result.s, history=result.history + hard.history)


def improve(
    task: Task, result: SolverResult, restart: Restart, listener: Listener
) -> tuple[SolverResult, Restart]:
    """Make moves for as long as each lowers the hard objective by ``MARGIN``."""
    settings = task.settings
    features, weight = task.sample_features(task.stream("moves"))
    while result.status is Status.CONVERGED:
        start = _proposal(task, result.parameters, features, weight)
        if start is None:
            break
        if len(result.history) >= settings.max_iter:
            return result._replace(status=Status.MAX_ITER), replace(restart, status=Status.MAX_ITER)
        listener.begin(f"move {restart.n_moves + 1}: a centroid goes where it saves more")
        schedule = Geometric(result.s, settings.anneal_factor, settings.anneal_every)
        left = settings.max_iter - len(result.history)
        moved = task.minimise(start, schedule, listener.iteration, left)
        moved = moved._replace(history=result.history + moved.history)
        moved = harden(task, moved, listener.iteration)
        value = task.hard_objective(moved.parameters)
        pays = value <= restart.hard_objective - MARGIN * abs(restart.hard_objective)
        listener.end(f"hard objective {value:.8g}, {'kept' if pays else 'taken back'}")
        if not pays:
            break
        result = moved
        restart = replace(
            restart,
            s=moved.s,
            n_iter=len(moved.history),
            status=moved.status,
            hard_objective=value,
            n_moves=restart.n_moves + 1,
        )
    return result, restart


def _proposal(task: Task, parameters: Parameters, features: Array, weight: Float64Array) -> Parameters | None:
    """Centroids with one moved, judged in the space where plain distances are ``dbar``."""
    weights = parameters.view_weights
    scale = column_scale(weights, task.problem)
    reference = float(weights @ task.problem.reference_distance)
    with np.errstate(over="ignore", under="ignore"):  # as in the engine: limits, not errors
        moved = propose_move(
            features * scale.astype(features.dtype),
            weight,
            parameters.centers * scale,
            membership=task.problem.membership,
            reference=reference,
            margin=MARGIN,
        )
    return None if moved is None else Parameters(moved / scale, weights)
