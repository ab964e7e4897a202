"""The composition root: data, features, engine and solver meet here, for estimators and commands alike."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from powerkmeans.advice.guidance import Looked, advice, look_at_features, troubles
from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.exceptions import DataGuidanceWarning
from powerkmeans.features.maps.exact import CentredKernel
from powerkmeans.fitting.baseline import chance_shares
from powerkmeans.fitting.collapse import collapsed_losses, find_collapse
from powerkmeans.fitting.listener import Listener
from powerkmeans.fitting.moves import MARGIN, harden, improve
from powerkmeans.fitting.pilot import pilot_of
from powerkmeans.fitting.prepare import Prepared, prepare_features
from powerkmeans.fitting.reference import reference_distance
from powerkmeans.fitting.starts import Start, needs_collapse, place, plan_starts
from powerkmeans.fitting.task import Task
from powerkmeans.inputs.settings import Settings
from powerkmeans.models.answers import model_statistics
from powerkmeans.models.model import FitResult, Model, Restart, Stream
from powerkmeans.objective.block import block_labels, prepare
from powerkmeans.objective.membership import Fuzzy, make_membership
from powerkmeans.objective.updates import about_origin, objective_value
from powerkmeans.solver.mm import count_apart, spread_within
from powerkmeans.support.warn import warn_caller
from powerkmeans.types import (
    Array,
    Iteration,
    Parameters,
    PassStatistics,
    Problem,
    SolverResult,
    Status,
    Views,
)

# lambda over the loss of a view before there are clusters: at 1 a noise view keeps a third of the weight of
# two, at 0.3 a fourteenth
ENTROPY_SHARE = 0.3


def fit_views(views: Views, settings: Settings, seed: int, listener: Listener) -> FitResult:
    """Fit a model to checked views: anneal from every start, on a sample if there are many rows; finish on all."""
    with single_threaded_blas():
        full, pilot = make_tasks(views, settings, seed)
        automatic = isinstance(settings.s_init, str)
        task = pilot if pilot is not None and automatic else full
        collapse = find_collapse(task) if needs_collapse(settings) else None
        critical = None if collapse is None else collapse.critical
        looked = look_at_features(full)
        _tell_beginning(listener, full, task, critical, looked.notes)
        starts, results, restarts = plan_starts(settings, critical), list[SolverResult](), list[Restart]()
        for index, start in enumerate(starts):
            listener.begin(f"run {index + 1} of {len(starts)}: start {start.init}, s from {start.s_init:.4g}")
            placed = place(start, task, collapse, task.stream("start", str(index)))
            result = _run(task, start, placed, listener)
            results.append(result if task is full else result._replace(sums=None))  # those are of other rows
            restarts.append(_restart(full, start, results[-1]))
            listener.end(_about_run(restarts[-1]))
            if results[-1].status is Status.INTERRUPTED:
                break
        best = choose_restart(restarts)
        result, kept = results[best], restarts[best]
        if results[-1].status is Status.INTERRUPTED:  # whichever run is kept, the fit has not been finished
            result = result._replace(status=Status.INTERRUPTED)
            kept = replace(kept, status=Status.INTERRUPTED)
        elif automatic:
            if task is not full:
                result, kept = _finish_run(full, starts[best], result, listener)
            result, kept = improve(full, result, kept, listener)
        restarts[best] = kept
        _tell_end(listener, full, result, kept)
        finished = _finish(views, full, result, looked)
        told = troubles(full, looked, kept, finished.n_used, finished.n_apart, critical)
        finished = replace(finished, critical=critical, restarts=tuple(restarts), best=best)
        return replace(finished, troubles=tuple(told))


def _finish_run(
    full: Task, start: Start, result: SolverResult, listener: Listener
) -> tuple[SolverResult, Restart]:
    """Follow a run on a sample with k-means steps on all rows."""
    listener.begin(f"all {full.prepared.engine.n_samples} rows")
    result = harden(full, result, listener.iteration)
    kept = _restart(full, start, result)
    listener.end(_about_run(kept))
    return result, kept


def _tell_beginning(listener: Listener, full: Task, task: Task, critical: float | None, notes: list[str]) -> None:
    prepared, problem = full.prepared, full.problem
    for note in (*prepared.notes, *notes):
        listener.note(note)
    listener.note(f"kernel: {prepared.kernel.name}")
    if task is not full:
        listener.note(f"annealing on {task.prepared.engine.n_samples} rows, then k-means steps on all")
    listener.note(_about_critical(critical))
    if len(problem.scatter) > 1:
        listener.note(f"entropy (lambda) {problem.entropy:.6g}")
    if problem.baseline is not None:
        losses = zip(prepared.views.names, problem.baseline / prepared.total_weight, strict=True)
        listener.note("mean loss to beat: " + ", ".join(f"{name} {loss:.3f}" for name, loss in losses))


def _tell_end(listener: Listener, full: Task, result: SolverResult, kept: Restart) -> None:
    listener.done(f"kept {kept.init}, {kept.n_moves} moves: hard objective {kept.hard_objective:.8g}")
    if len(full.problem.scatter) > 1:
        weights = zip(full.prepared.views.names, result.parameters.view_weights, strict=True)
        listener.note("view weights: " + ", ".join(f"{name} {weight:.3f}" for name, weight in weights))


def make_task(views: Views, settings: Settings, seed: int) -> Task:
    """Prepare the features and pose the problem on them."""
    return make_tasks(views, settings, seed)[0]


def make_tasks(views: Views, settings: Settings, seed: int) -> tuple[Task, Task | None]:
    """The task on all rows, and the same on a sample of them where there are many."""
    task = _with_membership(prepare_features(views, settings, seed), settings, seed)
    weighed = len(task.problem.scatter) > 1
    pilot = pilot_of(task) if weighed or isinstance(settings.s_init, str) else None
    problem = _with_entropy(pilot or task)
    return replace(task, problem=problem), None if pilot is None else replace(pilot, problem=problem)


def _with_membership(prepared: Prepared, settings: Settings, seed: int) -> Task:
    """The problem without what it takes to weigh views."""
    plain, membership = Fuzzy(settings.fuzziness), make_membership(settings.membership, settings.fuzziness)
    problem = Problem(plain, prepared.splits, prepared.scatter, prepared.scatter, dual=prepared.dual)
    task = Task(prepared, problem, settings, seed)
    reference = reference_distance(task) if membership.bounded else problem.reference_distance
    return replace(task, problem=replace(problem, membership=membership, reference_distance=reference))


def _with_entropy(task: Task) -> Problem:
    """Fix how views are compared: the price of uneven weights and what chance explains of each.

    lambda is as given, or a share of the mean loss of a view where all centroids sit together.
    """
    choice, problem = task.settings.entropy, task.problem
    if len(problem.scatter) == 1:  # nothing to weigh
        return problem if isinstance(choice, str) else replace(problem, entropy=choice)
    losses = collapsed_losses(task)
    entropy = ENTROPY_SHARE * float(np.mean(losses)) if isinstance(choice, str) else choice
    learned = task.settings.view_baseline is not None and math.isfinite(entropy)
    baseline = losses * chance_shares(task) if learned else None
    return replace(problem, entropy=entropy, baseline=baseline)


def choose_restart(restarts: list[Restart]) -> int:
    """The run of lowest hard objective; the best from the cloud is kept unless another kind clearly beats it.

    The cloud's answer does not depend on the draw of rows; smaller differences of cost say nothing about clusters.
    """
    values = np.array([restart.hard_objective for restart in restarts])
    clouds = np.array([restart.init == "cloud" for restart in restarts])
    best = int(np.argmin(values))
    if not np.any(clouds):
        return best
    cloud = int(np.argmin(np.where(clouds, values, np.inf)))
    if values[best] >= values[cloud] - MARGIN * restarts[cloud].hard_loss:
        return cloud
    return best


def warn_if_unwell(result: FitResult) -> None:
    """Tell what a user should know about the fit and the data, in one warning."""
    found = (*result.troubles, *result.advice)
    if found:
        warn_caller("\n- ".join(found), ConvergenceWarning if result.troubles else DataGuidanceWarning)


def _about_critical(critical: float | None) -> str:
    if critical is None:
        return "s_init is given: one annealing from there, without moves, as in the paper"
    if critical == 0:
        return "clusters separate at every exponent below zero"
    return f"critical exponent {critical:.4g}: clusters begin to separate there"


def _about_run(restart: Restart) -> str:
    return (
        f"{restart.status}: {restart.n_iter} iterations, s {restart.s:.4g}, "
        f"hard objective {restart.hard_objective:.8g}"
    )


def _run(task: Task, start: Start, placed: Parameters, listener: Listener) -> SolverResult:
    """Anneal from one start; unless the exponent was given, finish as k-means."""
    result = task.descend(placed, start.schedule, on_iteration=listener.iteration)
    if isinstance(task.settings.s_init, str):
        return harden(task, result, listener.iteration)
    return result


def _restart(task: Task, start: Start, result: SolverResult) -> Restart:
    value, loss = task.hard_objective(result)
    return Restart(
        init=start.init,
        s_init=start.s_init,
        s=result.s,
        n_iter=len(result.history),
        status=result.status,
        hard_objective=value,
        hard_loss=loss,
    )


def _finish(views: Views, task: Task, result: SolverResult, looked: Looked) -> FitResult:
    """Label the samples, with the clusters that have any first, and measure the final state."""
    prepared, problem, found = task.prepared, task.problem, result.parameters
    engine = prepared.engine
    labels = engine.map_rows(block_labels, prepare(found, result.s, problem, engine.dtype))
    used = np.bincount(labels, minlength=len(found.centers)) > 0
    order = np.argsort(~used, kind="stable")
    parameters = Parameters(found.centers[order], found.view_weights)
    model = Model(
        view_names=views.names,
        used_views=tuple(views.names.index(name) for name in prepared.views.names),
        view_widths=tuple(int(array.shape[1]) for array in views.arrays),
        maps=tuple(m.for_new() if isinstance(m, CentredKernel) else m for m in prepared.maps),
        parameters=parameters,
        problem=problem,
        s=result.s,
        dtype=views.dtype,
    )
    if problem.dual:
        final = task.run_pass(parameters, result.s)
    else:
        final = model_statistics(model, views, task.settings.engine)
    return FitResult(
        model=model,
        labels=np.argsort(order).astype(labels.dtype)[labels],
        objective=objective_value(float(final.loss), parameters, problem),
        inertia=float(final.hard_cost),
        bandwidths=prepared.bandwidths,
        n_used=int(np.sum(used)),
        n_apart=count_apart(parameters, problem, spread_within(final, parameters, problem)),
        history=_reordered(result.history, order),
        stream=None if problem.dual else _begun_stream(task, final, parameters),
        advice=tuple(advice(task, looked, parameters, final)),
    )


def _reordered(history: tuple[Iteration, ...], order: Array) -> tuple[Iteration, ...]:
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
