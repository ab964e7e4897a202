"""From few clusters to many on the same features: every number starts from its neighbours' solutions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from powerkmeans.compute.passes import map_rows
from powerkmeans.estimators.listeners import Printer
from powerkmeans.fitting.baseline import chance_shares
from powerkmeans.fitting.collapse import Collapse, find_collapse
from powerkmeans.fitting.moves import improve, one_less, one_more
from powerkmeans.fitting.starts import RELAXATION, START_MARGIN, Start, place, plan_starts
from powerkmeans.fitting.task import Task
from powerkmeans.models.model import Restart
from powerkmeans.objective.block import block_labels, prepare
from powerkmeans.solver.schedules import Geometric
from powerkmeans.types import (
    Array,
    Float64Array,
    Iteration,
    Parameters,
    PassStatistics,
    RowSample,
    SolverResult,
    Status,
)

# numbers of clusters between which what chance explains of a view is interpolated
_KNOTS = (2, 3, 5, 8, 13, 20, 32, 50, 80)
# the annealing that shows where groups separate: a cloud this much smaller, an exponent where no groups are apart
# yet if there is no critical one, iterations at each exponent and in all
_SHRINK, _SMALLEST_START, _EVERY, _MAX_ITER = 0.01, 0.2, 4, 700


@dataclass(frozen=True)
class Shared:
    """What all numbers of clusters share.

    task : the problem on features of some rows
    given : these rows as maps take them
    baselines : what each view has to beat
    """

    task: Task
    given: RowSample
    baselines: dict[int, Float64Array | None]

    def with_clusters(self, n_clusters: int) -> Task:
        """The problem with so many clusters."""
        settings = replace(self.task.settings, n_clusters=n_clusters)
        problem = replace(self.task.problem, baseline=self.baselines[n_clusters])
        return replace(self.task, settings=settings, problem=problem)

    def on_features(self, sample: RowSample) -> Shared:
        """The same on other features."""
        return replace(self, task=self.task.on_features(sample))

    @property
    def rows(self) -> RowSample:
        return self.task.prepared.sample


def make_shared(full: Task, numbers: list[int], most: int) -> Shared:
    """Features of at most so many rows, drawn once for all numbers of clusters."""
    given = full.sample_rows(full.stream("choice"), most)
    return Shared(full.on_features(full.features_of(given)), given, _baselines(full, [1, *numbers]))


def _baselines(full: Task, numbers: list[int]) -> dict[int, Float64Array | None]:
    """What each view has to beat at each number: a power law between a few of them."""
    top, baseline = full.settings.n_clusters, full.problem.baseline
    if baseline is None:
        return dict.fromkeys(numbers)
    knots = sorted({*(k for k in _KNOTS if numbers[0] <= k < top), max(2, numbers[0]), top})
    shares = [chance_shares(replace(full, settings=replace(full.settings, n_clusters=k))) for k in knots]
    logs = np.log(np.maximum(shares, np.finfo(np.float64).tiny))
    result = dict[int, Float64Array | None]()
    for k in numbers:
        here = [np.interp(math.log(k), np.log(knots), column) for column in logs.T]
        result[k] = baseline * np.exp(here - logs[-1])
    return result


class Solution(NamedTuple):
    """Centroids for one number of clusters, and the objective at ``s = -inf`` with the loss that is part of it."""

    parameters: Parameters
    value: float
    loss: float


def solve_all(shared: Shared, numbers: list[int]) -> dict[int, Solution]:
    """The best solution found for each of consecutive numbers of clusters.

    The largest number is annealed. Upwards each number starts from the groups of the annealing where it had as
    many, and from the solution of one less with the cluster split that gains most; downwards from the solution of
    one more without the centroid that is missed least. Then superfluous centroids are moved, as in a fit.
    """
    rows = shared.rows
    annealed = _annealed(shared.with_clusters(numbers[-1]))
    found = dict[int, Solution]()
    previous = Parameters(np.zeros((1, shared.task.problem.splits[-1])), shared.task.uniform_weights())
    for k in numbers:
        task = shared.with_clusters(k)
        while len(previous.centers) < k:
            previous = one_more(task, previous, rows)
        starts = [previous, *([annealed[k]] if k in annealed else [])]
        found[k] = min((_finished(task, start) for start in starts), key=lambda solution: solution.value)
        previous = found[k].parameters
    for k in reversed(numbers):
        task = shared.with_clusters(k)
        if k + 1 in found:
            merged = _finished(task, one_less(task, found[k + 1].parameters, rows))
            found[k] = min(found[k], merged, key=lambda solution: solution.value)
        found[k] = _improved(task, found[k])
    return found


def _finished(task: Task, start: Parameters) -> Solution:
    result = task.descend(start)
    return Solution(result.parameters, *task.hard_objective(result))


def _improved(task: Task, solution: Solution) -> Solution:
    before = SolverResult(solution.parameters, -math.inf, Status.CONVERGED, ())
    restart = Restart("path", -math.inf, -math.inf, 0, Status.CONVERGED, solution.value, solution.loss)
    result, restart = improve(task, before, restart, Printer(0))
    return Solution(result.parameters, restart.hard_objective, restart.hard_loss)


def labels_of(task: Task, parameters: Parameters) -> Array:
    """The nearest centroid of each row."""
    engine = task.prepared.engine
    return map_rows(engine, block_labels, prepare(parameters, -math.inf, task.problem, engine.dtype))


class _Groups:
    """Groups of centroids along a run, from a task's passes and the centroids that each was of."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.by_number = dict[int, Parameters]()

    def run_pass(self, parameters: Parameters, s: float) -> PassStatistics:
        self._last = parameters
        return self._task.run_pass(parameters, s)

    def keep(self, line: Iteration) -> bool:
        """Keep one centroid of each group, by how many groups there are."""
        leaders = np.unique(line.groups)
        self.by_number[len(leaders)] = Parameters(self._last.centers[leaders], self._last.view_weights)
        return False


def _annealed(task: Task) -> dict[int, Parameters]:
    """Groups of centroids along the annealing of a fit, by their number; the last state under that of all."""
    collapse = find_collapse(task)
    start = plan_starts(replace(task.settings, init="cloud", n_init=1), collapse.critical)[0]
    groups = _Groups(task)
    placed = place(start, task, collapse, task.stream("start", "0"))
    result = task.descend(placed, start.schedule, on_iteration=groups.keep, run_pass=groups.run_pass)
    return {**groups.by_number, len(placed.centers): result.parameters}


def slow_annealing(task: Task) -> tuple[Float64Array, Array, Parameters]:
    """Exponents and groups of an annealing that gives groups the time to come together and to part.

    A fit begins with a cloud that never quite collapses and hurries where nothing moves; this one shows the order
    in which structure opens up.

    Returns
    -------
    s : (n_iter,)
    groups : (n_iter, k), for each centroid the first of those that it has not separated from
    parameters : the last ones

    """
    collapse = find_collapse(task)
    s_init = -max((1 - START_MARGIN) * abs(collapse.critical), _SMALLEST_START)
    schedule = Geometric(s_init, task.settings.anneal_factor, _EVERY, s_init, relaxation=RELAXATION)
    start = Start("cloud", s_init, schedule)
    placed = _shrunk(place(start, task, collapse, task.stream("start", "0")), collapse)
    result = task.descend(placed, schedule, max_iter=_MAX_ITER)
    lines = result.history
    return np.array([line.s for line in lines]), np.array([line.groups for line in lines]), result.parameters


def _shrunk(placed: Parameters, collapse: Collapse) -> Parameters:
    return replace(placed, centers=collapse.point + _SHRINK * (placed.centers - collapse.point))
