"""One fit in progress: the prepared data, the problem posed on it, and the settings."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from powerkmeans.engines.rows import zero_where_absent
from powerkmeans.fitting.preparation import SAMPLE_BYTES, Prepared, subsample
from powerkmeans.kernels import RawInput
from powerkmeans.objective.block import prepare
from powerkmeans.objective.updates import objective_value
from powerkmeans.settings import Settings
from powerkmeans.solver.annealing import Schedule
from powerkmeans.solver.mm import minimise
from powerkmeans.streams import stream
from powerkmeans.types import (
    Float64Array,
    OnIteration,
    Parameters,
    PassStatistics,
    Problem,
    RowSample,
    SolverResult,
)


@dataclass(frozen=True)
class Task:
    """Ties the solver to the data; shared by all restarts."""

    prepared: Prepared
    problem: Problem
    settings: Settings
    seed: int

    def run_pass(self, parameters: Parameters, s: float) -> PassStatistics:
        """All sums over the data that one iteration needs."""
        prepared, kernel = self.prepared, self.prepared.kernel
        inputs = prepare(parameters, s, self.problem, prepared.engine.dtype)
        if not prepared.engine.stored and kernel.takes_raw(prepared.maps, prepared.views.arrays):
            return prepared.rows.fold(kernel.raw_statistics, RawInput(inputs, prepared.maps))
        return prepared.engine.fold(kernel.statistics, inputs)

    def minimise(
        self,
        start: Parameters,
        schedule: Schedule,
        on_iteration: OnIteration | None = None,
        max_iter: int | None = None,
    ) -> SolverResult:
        """Run the solver from one start."""
        return minimise(
            self.run_pass,
            start,
            schedule=schedule,
            problem=self.problem,
            tol=self.settings.tol,
            max_iter=max_iter or self.settings.max_iter,
            on_iteration=on_iteration,
        )

    def hard_objective(self, parameters: Parameters) -> tuple[float, float]:
        """The objective at ``s = -inf``, by which restarts are compared, and the loss that is part of it."""
        loss = float(self.run_pass(parameters, -math.inf).loss)
        return objective_value(loss, parameters, self.problem), loss

    def stream(self, *purpose: str) -> np.random.Generator:
        """The generator for one purpose of this fit."""
        return stream(self.seed, *purpose)

    def uniform_weights(self) -> Float64Array:
        """Where view weights start."""
        n_views = len(self.problem.scatter)
        return np.full(n_views, 1 / n_views)

    def sample_features(self, rng: np.random.Generator) -> RowSample:
        """Centred features of sampled rows; an absent row is zero, which is the mean."""
        prepared = self.prepared
        row_bytes = prepared.splits[-1] * prepared.engine.dtype.itemsize
        most = max(SAMPLE_BYTES // row_bytes, 10 * self.settings.n_clusters)
        sample = subsample(prepared.sample, most, rng)
        views = tuple(m(view, np) for m, view in zip(prepared.maps, sample.views, strict=True))
        if sample.present is not None:
            views = tuple(map(zero_where_absent, views, sample.present.T))
        return RowSample(views, sample.weight, sample.present)
