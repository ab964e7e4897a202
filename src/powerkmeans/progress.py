"""Who hears of a fit: nobody, a reader of stderr, or scikit-learn's callbacks."""

from __future__ import annotations

import sys
from typing import Any

from powerkmeans.fit import Listener
from powerkmeans.fitting.starts import Start
from powerkmeans.model import Restart
from powerkmeans.types import Iteration


class Printer:
    """Lines on stderr: ``verbose=1`` a line a run, ``verbose=2`` a line an iteration."""

    def __init__(self, verbose: int) -> None:
        self._verbose = verbose
        self._iteration = 0

    def note(self, text: str) -> None:
        self._print(1, text)

    def begin_run(self, start: Start, index: int, n_runs: int) -> None:
        self._iteration = 0
        self._print(1, f"run {index + 1} of {n_runs}: start {start.init}, s from {start.s_init:.4g}")

    def iteration(self, line: Iteration) -> bool:
        self._iteration += 1
        self._print(
            2,
            f"  {self._iteration:4d}  s {line.s:9.3f}  objective {line.objective:.8g}  "
            f"shift {line.shift:.2e}  distinct centroids {line.n_distinct}",
        )
        return False

    def end_run(self, restart: Restart) -> None:
        self._print(
            1,
            f"  {restart.status}: {restart.n_iter} iterations, s {restart.s:.4g}, "
            f"hard objective {restart.hard_objective:.8g}",
        )

    def end(self, restart: Restart) -> None:
        self._print(
            1, f"kept start {restart.init}, {restart.n_moves} moves: hard objective {restart.hard_objective:.8g}"
        )

    def _print(self, level: int, text: str) -> None:
        if self._verbose >= level:
            print(f"[powerkmeans] {text}", file=sys.stderr)


class Callbacks:
    """Tells scikit-learn's callbacks of runs and iterations, and passes everything on to a printer."""

    def __init__(self, estimator: Any, context: Any, X: Any, printer: Printer) -> None:
        self._estimator, self._context, self._X, self._printer = estimator, context, X, printer
        self._run: Any = None

    def note(self, text: str) -> None:
        self._printer.note(text)

    def begin_run(self, start: Start, index: int, n_runs: int) -> None:
        self._printer.begin_run(start, index, n_runs)
        name = f"run {index + 1} of {n_runs} ({start.init})"
        self._run = self._context.subcontext(task_name=name, max_subtasks=self._estimator.max_iter)
        self._run.call_on_fit_task_begin(estimator=self._estimator, X=self._X)

    def iteration(self, line: Iteration) -> bool:
        self._printer.iteration(line)
        task = self._run.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=self._estimator, X=self._X)
        metadata = {"s": line.s, "objective": line.objective, "shift": line.shift}
        return bool(task.call_on_fit_task_end(estimator=self._estimator, X=self._X, metadata=metadata))

    def end_run(self, restart: Restart) -> None:
        self._printer.end_run(restart)
        self._run.call_on_fit_task_end(estimator=self._estimator, X=self._X)

    def end(self, restart: Restart) -> None:
        self._printer.end(restart)
        self._context.call_on_fit_task_end(estimator=self._estimator, X=self._X)


def make_listener(estimator: Any, X: Any, verbose: int) -> Listener:
    """Return the listener for a fit of ``estimator``."""
    printer = Printer(verbose)
    if not getattr(estimator, "_skl_callbacks", None):
        return printer
    context = estimator._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator, X=X)
    return Callbacks(estimator, context, X, printer)
