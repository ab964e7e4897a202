"""Listeners: lines on stderr, and scikit-learn's callbacks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from powerkmeans.fitting.listener import Listener
from powerkmeans.types import Iteration

_LISTENER: ContextVar[Listener | None] = ContextVar("powerkmeans_listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let fits that begin inside tell ``listener`` how they go, instead of printing."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


class Printer:
    """Lines on stderr: ``verbose=1`` a few per run, ``verbose=2`` one per iteration."""

    def __init__(self, verbose: int) -> None:
        self._verbose = verbose
        self._iteration = 0

    def note(self, text: str) -> None:
        self._print(1, text)

    def begin(self, stage: str) -> None:
        self._iteration = 0
        self._print(1, stage)

    def iteration(self, line: Iteration) -> bool:
        self._iteration += 1
        self._print(
            2,
            f"  {self._iteration:4d}  s {line.s:9.3f}  objective {line.objective:.8g}  "
            f"shift {line.shift:.2e}  distinct centroids {line.n_distinct}",
        )
        return False

    def end(self, text: str) -> None:
        self._print(1, f"  {text}")

    def done(self, text: str) -> None:
        self._print(1, text)

    def _print(self, level: int, text: str) -> None:
        if self._verbose >= level:
            print(f"[powerkmeans] {text}", file=sys.stderr)


class Callbacks:
    """Tells scikit-learn's callbacks of stages and iterations, and passes everything on to another listener."""

    def __init__(self, estimator: Any, context: Any, X: Any, printer: Listener) -> None:
        self._estimator, self._context, self._X, self._printer = estimator, context, X, printer
        self._stage: Any = None

    def note(self, text: str) -> None:
        self._printer.note(text)

    def begin(self, stage: str) -> None:
        self._printer.begin(stage)
        self._stage = self._context.subcontext(task_name=stage, max_subtasks=None)
        self._stage.call_on_fit_task_begin(estimator=self._estimator, X=self._X)

    def iteration(self, line: Iteration) -> bool:
        self._printer.iteration(line)
        task = self._stage.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=self._estimator, X=self._X)
        metadata = {"s": line.s, "objective": line.objective, "shift": line.shift}
        return bool(task.call_on_fit_task_end(estimator=self._estimator, X=self._X, metadata=metadata))

    def end(self, text: str) -> None:
        self._printer.end(text)
        self._stage.call_on_fit_task_end(estimator=self._estimator, X=self._X)

    def done(self, text: str) -> None:
        self._printer.done(text)
        self._context.call_on_fit_task_end(estimator=self._estimator, X=self._X)


def make_listener(estimator: Any, X: Any, verbose: int) -> Listener:
    """Return the listener for a fit of ``estimator``."""
    printer = _LISTENER.get() or Printer(verbose)
    if not getattr(estimator, "_skl_callbacks", None):
        return printer
    context = estimator._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator, X=X)
    return Callbacks(estimator, context, X, printer)
