"""What a fit leaves behind: enough to label any sample, and nothing of the size of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from powerkmeans.features.maps import CentredMap
from powerkmeans.types import Array, Iteration, Parameters, Problem, Status


@dataclass(frozen=True)
class Model:
    """Feature maps, centroids in their centred space, and the objective they were found under."""

    view_names: tuple[str, ...]
    maps: tuple[CentredMap, ...]
    parameters: Parameters
    problem: Problem
    s: float
    dtype: np.dtype[Any]

    def cluster_centers(self) -> list[Array]:
        """Centroids as points of each view's own (uncentred) feature space."""
        parts = zip(self.maps, self.problem.view_slices, strict=True)
        return [m.uncentred(self.parameters.centers[:, part]).astype(self.dtype) for m, part in parts]


@dataclass(frozen=True)
class Restart:
    """One run of the solver: where it started and what it reached.

    ``hard_objective`` is the objective at ``s = -inf``, by which restarts are compared; ``n_moves`` counts
    centroids that were moved after the annealing.
    """

    init: str
    s_init: float
    s: float
    n_iter: int
    status: Status
    hard_objective: float
    n_moves: int = 0


@dataclass(frozen=True)
class FitResult:
    """A fitted model and the story of its fit.

    ``n_used`` clusters have samples; ``n_apart`` centroids are apart from all others.
    """

    model: Model
    labels: Array
    objective: float
    inertia: float
    bandwidths: tuple[float | None, ...]
    n_used: int
    n_apart: int
    history: tuple[Iteration, ...]
    restarts: tuple[Restart, ...] = ()
    best: int = 0
    critical: float | None = None


def history_table(result: FitResult) -> dict[str, Array]:
    """The history as one array a column."""
    lines = result.history
    return {
        "s": np.array([line.s for line in lines]),
        "objective": np.array([line.objective for line in lines]),
        "inertia": np.array([line.hard_cost for line in lines]),
        "shift": np.array([line.shift for line in lines]),
        "n_distinct": np.array([line.n_distinct for line in lines]),
        "view_weights": np.array([line.view_weights for line in lines]),
    }
