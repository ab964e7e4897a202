"""Runs of the solver: one from each start, the choice between them, and what a listener hears of them."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from powerkmeans.fitting.collapse import Collapse
from powerkmeans.fitting.listener import Listener
from powerkmeans.fitting.moves import MARGIN, harden, improve
from powerkmeans.fitting.starts import Start, place, plan_starts
from powerkmeans.fitting.task import Task
from powerkmeans.models.model import Restart
from powerkmeans.types import SolverResult, Status


class Run(NamedTuple):
    """One run: where it began, what the solver found, and its summary, whose costs are those of all rows."""

    start: Start
    found: SolverResult
    summary: Restart

    def interrupted(self) -> Run:
        """The same run as part of a fit that was stopped."""
        stopped = Status.INTERRUPTED
        return Run(self.start, self.found._replace(status=stopped), replace(self.summary, status=stopped))


def anneal_all(full: Task, task: Task, collapse: Collapse | None, listener: Listener) -> list[Run]:
    """Anneal ``task`` from every start, until one is interrupted."""
    starts = plan_starts(task.settings, None if collapse is None else collapse.critical)
    runs: list[Run] = []
    for index, start in enumerate(starts):
        listener.begin(f"run {index + 1} of {len(starts)}: start {start.init}, s from {start.s_init:.4g}")
        placed = place(start, task, collapse, task.stream("start", str(index)))
        found = task.descend(placed, start.schedule, on_iteration=listener.iteration)
        if isinstance(task.settings.s_init, str):
            found = harden(task, found, listener.iteration)
        if task is not full:
            found = found._replace(sums=None)  # those are of other rows
        runs.append(_told(full, start, found, listener))
        if found.status is Status.INTERRUPTED:
            break
    return runs


def complete(full: Task, task: Task, run: Run, listener: Listener) -> Run:
    """Bring the run that is kept to its end on all rows, and make the moves that pay.

    With a given exponent there is nothing to add: that is the paper's algorithm.
    """
    if not isinstance(full.settings.s_init, str):
        return run
    if task is not full:
        run = _on_all_rows(full, run, listener)
    return Run(run.start, *improve(full, run.found, run.summary, listener))


def _on_all_rows(full: Task, run: Run, listener: Listener) -> Run:
    """Follow a run on a sample with k-means steps on all rows."""
    listener.begin(f"all {full.prepared.engine.n_samples} rows")
    return _told(full, run.start, harden(full, run.found, listener.iteration), listener)


def _told(full: Task, start: Start, found: SolverResult, listener: Listener) -> Run:
    """A stage that has ended, with its costs, which the listener hears of."""
    summary = _summary(full, start, found)
    listener.end(
        f"{summary.status}: {summary.n_iter} iterations, s {summary.s:.4g}, "
        f"hard objective {summary.hard_objective:.8g}"
    )
    return Run(start, found, summary)


def _summary(full: Task, start: Start, found: SolverResult) -> Restart:
    value, loss = full.hard_objective(found)
    return Restart(
        init=start.init,
        s_init=start.s_init,
        s=found.s,
        n_iter=len(found.history),
        status=found.status,
        hard_objective=value,
        hard_loss=loss,
    )


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


def tell_beginning(full: Task, task: Task, critical: float | None, listener: Listener) -> None:
    """What is known before the first run."""
    prepared, problem = full.prepared, full.problem
    for note in prepared.notes:
        listener.note(note)
    listener.note(f"kernel: {prepared.engine.code}")
    if task is not full:
        listener.note(f"annealing on {task.prepared.engine.n_samples} rows, then k-means steps on all")
    listener.note(_about_critical(critical))
    if len(problem.scatter) > 1:
        listener.note(f"entropy (lambda) {problem.entropy:.6g}")
    if problem.baseline is not None:
        losses = zip(prepared.views.names, problem.baseline / prepared.total_weight, strict=True)
        listener.note("mean loss to beat: " + ", ".join(f"{name} {loss:.3f}" for name, loss in losses))


def tell_end(full: Task, kept: Run, listener: Listener) -> None:
    """Which run was kept."""
    summary, weights = kept.summary, kept.found.parameters.view_weights
    listener.done(f"kept {summary.init}, {summary.n_moves} moves: hard objective {summary.hard_objective:.8g}")
    if len(weights) > 1:
        named = zip(full.prepared.views.names, weights, strict=True)
        listener.note("view weights: " + ", ".join(f"{name} {weight:.3f}" for name, weight in named))


def _about_critical(critical: float | None) -> str:
    if critical is None:
        return "s_init is given: one annealing from there, without moves, as in the paper"
    if critical == 0:
        return "clusters separate at every exponent below zero"
    return f"critical exponent {critical:.4g}: clusters begin to separate there"
