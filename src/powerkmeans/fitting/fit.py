"""The composition root: data, features, engine and solver meet here, for estimators and commands alike."""

from __future__ import annotations

from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.fitting.collapse import find_collapse
from powerkmeans.fitting.finish import Fitted, finish
from powerkmeans.fitting.listener import Listener, hearing
from powerkmeans.fitting.problem import make_tasks
from powerkmeans.fitting.runs import anneal_all, choose_restart, complete, tell_beginning, tell_end
from powerkmeans.fitting.starts import needs_collapse
from powerkmeans.inputs.settings import Settings
from powerkmeans.types import Status, Views


def fit_views(views: Views, settings: Settings, seed: int, listener: Listener) -> Fitted:
    """Fit a model to checked views: anneal from every start, on a sample if there are many rows; finish on all."""
    with single_threaded_blas(), hearing(listener):
        full, pilot = make_tasks(views, settings, seed)
        task = pilot if pilot is not None and isinstance(settings.s_init, str) else full
        collapse = find_collapse(task) if needs_collapse(settings) else None
        critical = None if collapse is None else collapse.critical
        tell_beginning(full, task, critical, listener)
        runs = anneal_all(full, task, collapse, listener)
        best = choose_restart([run.summary for run in runs])
        if runs[-1].found.status is Status.INTERRUPTED:  # whichever run is kept, the fit has not been finished
            runs[best] = runs[best].interrupted()
        else:
            runs[best] = complete(full, task, runs[best], listener)
        tell_end(full, runs[best], listener)
        return finish(views, full, runs, best, critical)
