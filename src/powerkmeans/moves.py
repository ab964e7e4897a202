"""After the annealing: move centroids that serve little to where they save most, while that pays."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from sklearn.metrics import pairwise_distances_argmin_min

from powerkmeans.model import Restart
from powerkmeans.objective.updates import column_scale, objective_value
from powerkmeans.preparation import Prepared
from powerkmeans.settings import Settings
from powerkmeans.solver.annealing import Geometric
from powerkmeans.solver.mm import minimise
from powerkmeans.solver.relocate import propose_move
from powerkmeans.starts import sample_features
from powerkmeans.types import (
    Array,
    Float64Array,
    OnIteration,
    Parameters,
    Problem,
    RunPass,
    SolverResult,
    Status,
)

# a move must lower the hard objective by this share; smaller differences are within the features' own error
MARGIN = 0.01


@dataclass(frozen=True)
class Mover:
    """Proposes moves on a sample of rows and tries them on the data."""

    prepared: Prepared
    problem: Problem
    settings: Settings
    run_pass: RunPass
    rng: np.random.Generator

    def improve(self, result: SolverResult, restart: Restart, on_iteration: OnIteration) -> tuple[SolverResult, Restart]:
        """Make moves for as long as each lowers the hard objective by ``MARGIN``."""
        features, weight = sample_features(self.prepared, self.settings.n_clusters, self.rng)
        while result.status in (Status.CONVERGED, Status.EXACT):
            left = self.settings.max_iter - len(result.history)
            start = self._proposal(result.parameters, features, weight)
            if start is None or left < 1:
                break
            schedule = Geometric(result.s, self.settings.anneal_factor, self.settings.anneal_every)
            moved = minimise(
                self.run_pass,
                start,
                schedule=schedule,
                problem=self.problem,
                tol=self.settings.tol,
                max_iter=left,
                on_iteration=on_iteration,
            )
            hard = self.run_pass(moved.parameters, -math.inf)
            value = objective_value(float(hard.loss), moved.parameters, self.problem)
            if value > restart.hard_objective - MARGIN * abs(restart.hard_objective):
                break
            history = result.history + moved.history
            result = SolverResult(moved.parameters, moved.s, moved.status, history)
            restart = replace(
                restart,
                s=moved.s,
                n_iter=len(history),
                status=moved.status,
                hard_objective=value,
                n_moves=restart.n_moves + 1,
            )
        return result, restart

    def _proposal(self, parameters: Parameters, features: Array, weight: Float64Array) -> Parameters | None:
        """Centroids with one moved, judged in the space where plain distances are ``dbar``.

        Rows count by their typicality, so that far outliers do not call for a centroid of their own.
        """
        scale = column_scale(parameters, self.problem)
        rows, centers = features * scale.astype(features.dtype), parameters.centers * scale
        moved = propose_move(rows, weight * self._attraction(rows, centers, parameters), centers, MARGIN)
        return None if moved is None else Parameters(moved / scale, parameters.view_weights)

    def _attraction(self, rows: Array, centers: Float64Array, parameters: Parameters) -> Float64Array:
        membership = self.problem.membership
        _, distance = pairwise_distances_argmin_min(rows, centers.astype(rows.dtype))
        reference = float(parameters.view_weights @ self.problem.reference_distance)
        return membership.attraction(membership.degrees(distance.astype(np.float64) ** 2, reference, np), np)
