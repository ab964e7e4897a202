"""One fit in progress: the prepared data, the problem posed on it, and the settings."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.passes import run_pass
from powerkmeans.features.maps.centred import make_centred
from powerkmeans.features.maps.identity import IdentityMap
from powerkmeans.fitting.checkpoints import carried_cost, carried_out
from powerkmeans.fitting.listener import told_part
from powerkmeans.fitting.prepared import Prepared
from powerkmeans.inputs.settings import Settings
from powerkmeans.objective.block import block_statistics, prepare_training
from powerkmeans.objective.updates import objective_value
from powerkmeans.solver.mm import minimise
from powerkmeans.solver.schedules import Hard, Schedule
from powerkmeans.sources import choose_rows, in_memory
from powerkmeans.support.absent import zero_where_absent
from powerkmeans.support.draws import stream, subsample
from powerkmeans.types import (
    FeatureMap,
    Float64Array,
    OnIteration,
    Parameters,
    PassStatistics,
    Problem,
    RowSample,
    RunPass,
    SolverResult,
    Views,
)

_HARD = Hard()
# bytes that features of sampled rows take, unless these are few per cluster; starts and moves hold some copies
SAMPLE_BYTES = 2**26


@dataclass(frozen=True)
class Task:
    """Ties the solver to the data; shared by all restarts."""

    prepared: Prepared
    problem: Problem
    settings: Settings
    seed: int

    def run_pass(self, parameters: Parameters, s: float) -> PassStatistics:
        """All sums over the data that one iteration needs."""
        engine = self.prepared.engine
        return run_pass(engine, prepare_training(parameters, s, self.problem, engine.dtype), block_statistics)

    def descend(
        self,
        start: Parameters,
        schedule: Schedule = _HARD,
        *,
        on_iteration: OnIteration | None = None,
        max_iter: int | None = None,
        run_pass: RunPass | None = None,
    ) -> SolverResult:
        """Run the solver from one start: as k-means, unless a schedule says otherwise.

        ``run_pass`` stands in for that of the task, for whoever wants to see what each pass sees.
        """
        solve = partial(
            minimise,
            run_pass or self.run_pass,
            start,
            schedule=schedule,
            problem=self.problem,
            tol=self.settings.tol,
            max_iter=max_iter or self.settings.max_iter,
            on_iteration=on_iteration,
        )
        return carried_out(start, solve)

    def hard_sums(self, result: SolverResult) -> PassStatistics:
        """The sums at ``s = -inf`` where a run on these rows ended; a pass, unless its last one was just that."""
        if result.sums is not None and result.history[-1].s == -math.inf:
            return result.sums
        with told_part("cost of all rows"):
            return self.run_pass(result.parameters, -math.inf)

    def hard_objective(self, result: SolverResult) -> tuple[float, float]:
        """The objective at ``s = -inf``, by which restarts are compared, and the loss that is part of it."""
        loss = carried_cost(lambda: float(self.hard_sums(result).loss))
        return objective_value(loss, result.parameters, self.problem), loss

    def stream(self, *purpose: str) -> np.random.Generator:
        """The generator for one purpose of this fit."""
        return stream(self.seed, *purpose)

    def uniform_weights(self) -> Float64Array:
        """Where view weights start."""
        n_views = len(self.problem.scatter)
        return np.full(n_views, 1 / n_views)

    @property
    def on_explicit(self) -> Task:
        """The same problem on the explicit features of sampled rows; itself unless a view is dual."""
        return self if self.prepared.explicit is None else self._explicit

    @cached_property
    def _explicit(self) -> Task:  # never the task itself: in a cycle its features would outlive the fit
        assert self.prepared.explicit is not None
        return self.on_features(self.prepared.explicit.sample)

    def on_features(self, sample: RowSample) -> Task:
        """The same problem on given features, one array per view; weights are scaled to those of all rows."""
        prepared = self.prepared
        dtype = np.result_type(*(view.dtype for view in sample.views))
        weight = sample.weight * (prepared.total_weight / np.sum(sample.weight))
        views = Views(prepared.views.names, sample.views, weight.astype(dtype), sample.present)
        rows = open_engine(self.settings.engine, views)
        widths = [view.shape[1] for view in sample.views]
        changed = prepared._replace(
            engine=rows.with_features(tuple(map(IdentityMap, widths)), keep=True),
            views=views,
            maps=tuple(make_centred(IdentityMap(width), np.zeros(width), dtype) for width in widths),
            sample=sample,
            samples=tuple(present_rows(sample, view) for view in range(len(widths))),
            explicit=None,
        )
        problem = replace(self.problem, splits=(0, *np.cumsum(widths).tolist()), dual=())
        return replace(self, prepared=changed, problem=problem)

    def to_explicit(self, points: Float64Array) -> Float64Array:
        """Points of this problem as points of the explicit one."""
        explicit = self.prepared.explicit
        return points if explicit is None else explicit.to_explicit(points, self.problem)

    def from_explicit(self, points: Float64Array) -> Float64Array:
        """Points of the explicit problem as points of this one."""
        explicit = self.prepared.explicit
        return points if explicit is None else explicit.from_explicit(points)

    def sample_features(self, rng: np.random.Generator) -> RowSample:
        """Centred features of sampled rows."""
        explicit = self.prepared.explicit
        return self.features_of(self.sample_rows(rng)) if explicit is None else explicit.sample

    def sample_rows(self, rng: np.random.Generator, most: int | None = None) -> RowSample:
        """Sampled rows as maps take them, at most so many."""
        prepared = self.prepared
        row_bytes = prepared.splits[-1] * prepared.engine.dtype.itemsize
        most = most or max(SAMPLE_BYTES // row_bytes, 10 * self.settings.n_clusters)
        return subsample(prepared.sample, most, rng, choose_rows)

    def features_of(self, sample: RowSample) -> RowSample:
        """Centred features of such rows; an absent row is zero, which is the mean."""
        # one view after the other: rows of all of them at once may take as much as everything else
        maps = self.prepared.fastest_maps
        views = tuple(m(in_memory(view), np) for m, view in zip(maps, sample.views, strict=True))
        if sample.present is not None:
            views = tuple(map(zero_where_absent, views, sample.present.T))
        return RowSample(views, sample.weight, sample.present)


def rows_of_view(task: Task, index: int) -> tuple[RowSample, FeatureMap]:
    """Distinct rows of one view by itself, and what makes features of them."""
    prepared = task.prepared
    if prepared.explicit is None or not task.problem.is_dual(index):
        return prepared.samples[index], prepared.fastest_maps[index]
    rows = present_rows(prepared.explicit.sample, index)
    return rows, IdentityMap(rows.views[0].shape[1])


def present_rows(sample: RowSample, index: int) -> RowSample:
    """One view of a sample by itself, where samples have it."""
    view, weight = sample.views[index], sample.weight
    if sample.present is None:
        return RowSample((view,), weight)
    rows = np.flatnonzero(sample.present[:, index])
    return RowSample((view[rows],), weight[rows])
