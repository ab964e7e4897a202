"""The end of a fit: clusters in their order, labels, the model and its story."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.passes import map_rows
from powerkmeans.fitting.listener import told_part
from powerkmeans.fitting.prepare import through_maps
from powerkmeans.fitting.runs import Run
from powerkmeans.fitting.task import Task
from powerkmeans.models.answers import used_statistics
from powerkmeans.models.model import FitResult, Model, Stream
from powerkmeans.models.representatives import NearestRows, labels_and_nearest
from powerkmeans.objective.block import PassInput, block_labels, prepare
from powerkmeans.objective.updates import about_origin, objective_value
from powerkmeans.solver.mm import count_apart, spread_within
from powerkmeans.support.memory import FEW_ENTRIES
from powerkmeans.types import Array, Engine, Iteration, Parameters, PassStatistics, SolverResult, Views


class Fitted(NamedTuple):
    """A finished fit, and for whoever judges it the task on all rows and the sums of the last pass.

    ``drawn`` are the clusters of the rows that the task has drawn.
    """

    result: FitResult
    task: Task
    final: PassStatistics
    drawn: Array


def finish(views: Views, task: Task, runs: list[Run], best: int, critical: float | None) -> Fitted:
    """Label the samples by the run that is kept, number its clusters, the largest first, and measure its state."""
    found = runs[best].found
    order, labels, drawn, tally = _ordered(task, found)
    parameters = Parameters(found.parameters.centers[order], found.parameters.view_weights)
    model = _model(views, task, parameters, found.s)
    final = _last_pass(task, model)
    problem = task.problem
    result = FitResult(
        model=model,
        labels=labels,
        medoids=tally.row[order].astype(np.int64),
        objective=objective_value(float(final.loss), parameters, problem),
        inertia=float(final.hard_cost),
        bandwidths=task.prepared.bandwidths,
        n_used=int(np.sum(tally.count > 0)),
        n_apart=count_apart(parameters, problem, spread_within(final, parameters, problem)),
        history=reordered(found.history, order),
        restarts=tuple(run.summary for run in runs),
        best=best,
        critical=critical,
        stream=None if problem.dual else _begun_stream(task, final, parameters),
    )
    return Fitted(result, task, final, drawn)


@dataclass
class Tally(NearestRows):
    """How many samples each cluster has, what they weigh, and which is nearest to its centroid."""

    count: Array
    weight: Array

    def __iadd__(self, other: Self) -> Self:
        super().__iadd__(other)
        self.count, self.weight = self.count + other.count, self.weight + other.weight
        return self


@told_part("labels of all rows")
def _ordered(task: Task, found: SolverResult) -> tuple[Array, Array, Array, Tally]:
    """Which centroid comes where, labels by their new places, those of drawn rows, and what clusters have.

    Where rows are elsewhere there are no labels yet: whoever asks for them makes them.
    """
    engine = task.prepared.engine
    inputs = prepare(found.parameters, found.s, task.problem, engine.dtype)
    if engine.elsewhere:
        labels, tally = np.empty(0, dtype=np.int32), engine.on_parts(_tallied, inputs)
        firsts = map_rows(_drawn_rows(task), block_labels, inputs)
    else:
        labels, nearest = labels_and_nearest(engine, inputs)
        tally = _tally(labels, task.prepared.views.weight, nearest)
        firsts = labels[task.prepared.sample.rows]
    used = tally.count > 0
    if isinstance(task.settings.init, str):
        order = np.lexsort((*_places(firsts, tally), ~used))
    else:  # those who place centroids know them by their numbers
        order = np.argsort(~used, kind="stable")
    places = np.argsort(order).astype(labels.dtype)
    for part in _pieces(len(labels)):
        labels[part] = places[labels[part]]
    return order, labels, places[firsts], tally


def _tallied(engine: Engine, inputs: PassInput) -> Tally:
    labels, nearest = labels_and_nearest(engine, inputs)
    return _tally(labels, engine.views.weight, nearest)


def _drawn_rows(task: Task) -> Engine:
    """The rows drawn, on this machine."""
    prepared, sample = task.prepared, task.prepared.sample
    weight = np.ones(len(sample.weight), dtype=prepared.engine.dtype)
    rows = open_engine(task.settings.engine, Views(prepared.views.names, sample.views, weight, sample.present))
    return through_maps(rows, prepared.maps, task.settings, keep=False)


def _tally(labels: Array, weight: Array, nearest: NearestRows) -> Tally:
    n_clusters = len(nearest.row)
    tally = Tally(nearest.distance, nearest.row, np.zeros(n_clusters), np.zeros(n_clusters))
    for part in _pieces(len(labels)):
        tally.count += np.bincount(labels[part], minlength=n_clusters)
        tally.weight += np.bincount(labels[part], weights=weight[part], minlength=n_clusters)
    return tally


def _pieces(n_rows: int) -> Iterator[slice]:
    """Rows whose labels are counted at a time: counting makes them wider."""
    return (slice(start, start + FEW_ENTRIES) for start in range(0, n_rows, FEW_ENTRIES))


def _places(firsts: Array, tally: Tally) -> tuple[Array, Array]:
    """Clusters go by weight, equal ones by the first of the rows drawn that each has: not by the run that is kept.

    Of two runs that found the same clusters, each with numbers of its own, rounding keeps one.
    """
    first = np.full(len(tally.weight), len(firsts))
    clusters, first_of = np.unique(firsts, return_index=True)
    first[clusters] = first_of
    return first, -tally.weight


def _model(views: Views, task: Task, parameters: Parameters, s: float) -> Model:
    prepared = task.prepared
    return Model(
        view_names=views.names,
        used_views=tuple(views.names.index(name) for name in prepared.used),
        view_widths=tuple(int(array.shape[1]) for array in views.arrays),
        metrics=tuple(one.metric for one in task.settings.of_views(views.names)),
        maps=tuple(m.for_new() for m in prepared.maps_of_rows),
        parameters=parameters,
        problem=task.problem,
        s=s,
        dtype=views.dtype,
    )


@told_part("last sums over all rows")
def _last_pass(task: Task, model: Model) -> PassStatistics:
    """The sums at the model's own exponent; exact kernels and maps that fuse have features of all rows at hand."""
    if task.problem.dual or task.prepared.fitted_maps:
        return task.run_pass(model.parameters, model.s)
    return used_statistics(model, task.prepared.views, task.settings.engine)


def reordered(history: tuple[Iteration, ...], order: Array) -> tuple[Iteration, ...]:
    """The history with groups of centroids by their final numbers."""
    if np.array_equal(order, np.arange(len(order))):
        return history
    lines = []
    for line in history:
        groups = np.array(line.groups)[order]
        _, first, which = np.unique(groups, return_index=True, return_inverse=True)
        lines.append(line._replace(groups=tuple(first[which].tolist())))
    return tuple(lines)


def _begun_stream(task: Task, final: PassStatistics, parameters: Parameters) -> Stream:
    """What ``partial_fit`` goes on from."""
    n_samples = task.prepared.engine.n_samples
    return Stream(
        about_origin(final, parameters.centers, task.problem),
        weight=task.prepared.total_weight,
        n_fitted=n_samples,
        n_seen=float(n_samples),
    )
