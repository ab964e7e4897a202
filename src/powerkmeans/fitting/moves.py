"""After the annealing: finish as k-means, and move centroids that serve little to where they save most."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from powerkmeans.fitting.listener import Listener
from powerkmeans.fitting.task import Task
from powerkmeans.models.model import Restart
from powerkmeans.objective.block import block_labels, prepare
from powerkmeans.objective.updates import column_scale
from powerkmeans.solver.holdings import Measure
from powerkmeans.solver.release import release_rows
from powerkmeans.solver.relocate import drop_least, propose_moves, split_most
from powerkmeans.types import (
    Array,
    Block,
    Float64Array,
    OnIteration,
    Parameters,
    Problem,
    RowSample,
    SolverResult,
    Status,
)

# what is better must be so by this share of the loss, be it after a move or from another start: rounding is far
# below it, and a cluster of text, where most of the loss is noise that no centroid explains, not much above
MARGIN = 1e-5


def harden(task: Task, result: SolverResult, on_iteration: OnIteration) -> SolverResult:
    """Follow a converged annealing with k-means steps, to the optimum that it approaches.

    The exponent of the result stays that of the annealing: soft memberships are taken at it.
    """
    if result.status is not Status.CONVERGED:
        return result
    if _left(task, result) < 1:
        return result._replace(status=Status.MAX_ITER)
    return _continued(task, result, result.parameters, on_iteration)


def improve(
    task: Task, result: SolverResult, restart: Restart, listener: Listener
) -> tuple[SolverResult, Restart]:
    """Make moves for as long as each lowers the hard objective by ``MARGIN``."""
    sample = task.sample_features(task.stream("moves"))
    while result.status is Status.CONVERGED:
        improved = _improved(task, result, restart, sample, listener)
        if improved is None:
            break
        result, restart = improved
    return result, restart


def _improved(
    task: Task, result: SolverResult, restart: Restart, sample: RowSample, listener: Listener
) -> tuple[SolverResult, Restart] | None:
    """The run after the first change that pays, or as it is if it has to end; None if no change pays."""
    for change in _changes(task, result.parameters, sample):
        if _left(task, result) < 1:
            return _ended(result, restart, Status.MAX_ITER)
        listener.begin(change.words)
        moved = _continued(task, result, change.start, listener.iteration)
        if moved.status is Status.INTERRUPTED:
            listener.end("stopped, taken back")
            return _ended(result, restart, moved.status)
        value, loss = task.hard_objective(moved)
        pays = value <= restart.hard_objective - MARGIN * restart.hard_loss
        listener.end(f"hard objective {value:.8g}, {'kept' if pays else 'taken back'}")
        if pays:
            return moved, _after(restart, moved, (value, loss), change.n_moves)
    return None


def _left(task: Task, result: SolverResult) -> int:
    """How many iterations a run may still make."""
    return task.settings.max_iter - len(result.history)


def _continued(task: Task, result: SolverResult, start: Parameters, on_iteration: OnIteration) -> SolverResult:
    """k-means from ``start`` as a continuation of a run, whose exponent it keeps."""
    hard = task.descend(start, on_iteration=on_iteration, max_iter=_left(task, result))
    return hard._replace(s=result.s, history=result.history + hard.history)


def _ended(result: SolverResult, restart: Restart, status: Status) -> tuple[SolverResult, Restart]:
    return result._replace(status=status), replace(restart, status=status)


def _after(restart: Restart, moved: SolverResult, costs: tuple[float, float], n_moves: int) -> Restart:
    return replace(
        restart,
        s=moved.s,
        n_iter=len(moved.history),
        status=moved.status,
        hard_objective=costs[0],
        hard_loss=costs[1],
        n_moves=restart.n_moves + n_moves,
    )


class _Change(NamedTuple):
    """Centroids that promise a lower cost, how many of them were moved, and what to call it."""

    start: Parameters
    n_moves: int
    words: str


def _changes(task: Task, parameters: Parameters, sample: RowSample) -> Iterator[_Change]:
    """One centroid moved, in the most promising ways; then, where all rows are at hand, rows that change sides."""
    scaled = _scaled(task, parameters, sample)
    inputs = scaled.rows, sample.weight, scaled.centers, scaled.measure, MARGIN
    with np.errstate(over="ignore", under="ignore"):  # as in the engine: limits, not errors
        proposed = propose_moves(*inputs)
    for moved, n_moves in proposed:
        words = (
            "a centroid goes where it saves more"
            if n_moves == 1
            else f"{n_moves} centroids go where they save more"
        )
        yield _Change(_changed(task, parameters, scaled, moved), n_moves, words)
    if len(sample.weight) < task.prepared.sample.n_distinct:
        return
    with np.errstate(over="ignore", under="ignore"):
        released = release_rows(*inputs)
    if released is not None:
        yield _Change(
            _changed(task, parameters, scaled, released), 0, "rows that only hold themselves change sides"
        )


def _changed(task: Task, parameters: Parameters, scaled: _Scaled, centers: Float64Array) -> Parameters:
    """Parameters with the centroids that are others now."""
    changed = np.any(centers != scaled.centers, axis=1)
    result = parameters.centers.copy()
    result[changed] = task.from_explicit(centers[changed] / scaled.scale)
    return Parameters(result, parameters.view_weights)


def one_more(task: Task, parameters: Parameters, sample: RowSample) -> Parameters:
    """Centroids with one more, where it saves most."""
    return _resized(task, parameters, sample, split_most)


def one_less(task: Task, parameters: Parameters, sample: RowSample) -> Parameters:
    """Centroids with one less, the one that is missed least."""
    return _resized(task, parameters, sample, drop_least)


def _resized(
    task: Task, parameters: Parameters, sample: RowSample, resize: Callable[..., Float64Array]
) -> Parameters:
    scaled = _scaled(task, parameters, sample)
    with np.errstate(over="ignore", under="ignore"):
        centers = resize(scaled.rows, sample.weight, scaled.centers, scaled.measure)
    return Parameters(task.from_explicit(centers / scaled.scale), parameters.view_weights)


class _Scaled(NamedTuple):
    """Rows and centroids in the space where plain distances are ``dbar``, ``scale`` times their features."""

    rows: Array
    centers: Float64Array
    scale: Float64Array
    measure: Measure


def _scaled(task: Task, parameters: Parameters, sample: RowSample) -> _Scaled:
    explicit, weights = task.on_explicit.problem, parameters.view_weights
    centers = task.to_explicit(parameters.centers)
    features = _filled(explicit, Parameters(centers, weights), sample)
    scale = column_scale(weights, explicit)
    measure = Measure(explicit.membership, float(weights @ explicit.reference_distance))
    return _Scaled(features * scale.astype(features.dtype), centers * scale, scale, measure)


def _filled(problem: Problem, parameters: Parameters, sample: RowSample) -> Array:
    """Features side by side, a sample's absent views at its nearest centroid.

    A move is only proposed here; what it is worth is then measured on the views that samples have.
    """
    features = np.concatenate(sample.views, axis=1)
    if sample.present is None:
        return features
    norms = tuple(np.vecdot(view, view) for view in sample.views)
    block = Block(0, sample.views, norms, sample.weight.astype(features.dtype), sample.present.T)
    inputs = prepare(parameters, -math.inf, problem, features.dtype)
    nearest = parameters.centers[block_labels(block, inputs)]
    present = np.repeat(sample.present, np.diff(problem.splits), axis=1)
    return np.where(present, features, nearest.astype(features.dtype))
