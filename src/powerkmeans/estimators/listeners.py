"""Listeners: lines and a bar on stderr, scikit-learn's callbacks, and whoever else wants to know."""

from __future__ import annotations

import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from powerkmeans.fitting.listener import Listener
from powerkmeans.fitting.progress import Progress, Reckoner
from powerkmeans.types import Iteration

_LISTENER: ContextVar[Listener | None] = ContextVar("powerkmeans_listener", default=None)
_CALLBACK: ContextVar[Callable[[Progress], None] | None] = ContextVar("powerkmeans_callback", default=None)
# seconds before a bar is shown, and between two pictures of it
_PATIENCE, _PICTURES = 0.4, 0.1
_WIDTH = 24


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let fits that begin inside tell ``listener`` how they go, instead of printing."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def on_progress(callback: Callable[[Progress], None]) -> Iterator[None]:
    """Let fits that begin inside tell ``callback`` how far they are.

    Parameters
    ----------
    callback : callable
        Called in the thread of the fit, after every iteration and every few parts of a pass that takes more than a
        second, with a tuple of ``stage``, ``iteration``, ``share``, ``rows_per_second``, ``seconds_left`` and
        ``objective``. What it raises ends the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from powerkmeans import KernelPowerKMeans, on_progress
    >>> X, heard = np.random.default_rng(0).normal(size=(60, 2)), []
    >>> with on_progress(heard.append):
    ...     model = KernelPowerKMeans(2, random_state=0).fit(X)
    >>> "run 1 of 2" in {one.stage for one in heard}
    True
    >>> heard[-1].share
    1.0

    """
    if not callable(callback):
        raise TypeError(f"on_progress takes a callable, got {callback!r:.60} ({type(callback).__name__}).")
    token = _CALLBACK.set(callback)
    try:
        yield
    finally:
        _CALLBACK.reset(token)


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

    def rows(self, share: float, n_rows: int) -> None:
        pass

    def end(self, text: str) -> None:
        self._print(1, f"  {text}")

    def done(self, text: str) -> None:
        self._print(1, text)

    def close(self) -> None:
        pass

    def _print(self, level: int, text: str) -> None:
        if self._verbose >= level:
            print(f"[powerkmeans] {text}", file=sys.stderr)


class Bar(Printer):
    """The lines of ``verbose=1`` with a bar below them, on a terminal or in a notebook."""

    def __init__(self, n_samples: int) -> None:
        super().__init__(1)
        self._reckoner = Reckoner(self._draw, n_samples)
        self._born, self._drawn, self._shown = time.perf_counter(), 0.0, 0

    def note(self, text: str) -> None:
        self._reckoner.note(text)
        super().note(text)

    def begin(self, stage: str) -> None:
        self._reckoner.begin(stage)
        super().begin(stage)

    def iteration(self, line: Iteration) -> bool:
        return self._reckoner.iteration(line)

    def rows(self, share: float, n_rows: int) -> None:
        self._reckoner.rows(share, n_rows)

    def end(self, text: str) -> None:
        self._reckoner.end(text)
        super().end(text)

    def done(self, text: str) -> None:
        self._reckoner.done(text)
        super().done(text)

    def _print(self, level: int, text: str) -> None:
        self._wipe()
        super()._print(level, text)

    def close(self) -> None:
        self._wipe()

    def _draw(self, progress: Progress) -> None:
        now = time.perf_counter()
        if now - self._born >= _PATIENCE and now - self._drawn >= _PICTURES:
            self._wipe()
            line = bar_of(progress)[: shutil.get_terminal_size().columns - 1]
            sys.stderr.write(f"{line}\r")
            sys.stderr.flush()
            self._drawn, self._shown = now, len(line)

    def _wipe(self) -> None:
        if self._shown:
            sys.stderr.write(f"{' ' * self._shown}\r")
            sys.stderr.flush()
            self._shown = 0


def bar_of(progress: Progress) -> str:
    """One line."""
    full = round(progress.share * _WIDTH)
    speed, left = progress.rows_per_second, progress.seconds_left
    parts = [
        f"{progress.stage}, iteration {progress.iteration}" if progress.iteration else progress.stage,
        "" if math.isnan(speed) else f"{_short(speed)} rows/s",
        "" if left is None else f"about {_clock(left)} left",
    ]
    return f"[{'=' * full}{' ' * (_WIDTH - full)}] {progress.share:4.0%}  {', '.join(filter(None, parts))}"


def _short(number: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.3g}"


def _clock(seconds: float) -> str:
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


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

    def rows(self, share: float, n_rows: int) -> None:
        self._printer.rows(share, n_rows)

    def end(self, text: str) -> None:
        self._printer.end(text)
        self._stage.call_on_fit_task_end(estimator=self._estimator, X=self._X)

    def done(self, text: str) -> None:
        self._printer.done(text)
        self._context.call_on_fit_task_end(estimator=self._estimator, X=self._X)

    def close(self) -> None:
        self._printer.close()


class Both:
    """Two listeners; either may stop a stage."""

    def __init__(self, first: Listener, second: Listener) -> None:
        self._listeners = first, second

    def note(self, text: str) -> None:
        for one in self._listeners:
            one.note(text)

    def begin(self, stage: str) -> None:
        for one in self._listeners:
            one.begin(stage)

    def iteration(self, line: Iteration) -> bool:
        stops = [one.iteration(line) for one in self._listeners]  # both are told, whatever the first says
        return any(stops)

    def rows(self, share: float, n_rows: int) -> None:
        for one in self._listeners:
            one.rows(share, n_rows)

    def end(self, text: str) -> None:
        for one in self._listeners:
            one.end(text)

    def done(self, text: str) -> None:
        for one in self._listeners:
            one.done(text)

    def close(self) -> None:
        for one in self._listeners:
            one.close()


def make_listener(estimator: Any, X: Any, verbose: int, n_samples: int) -> Listener:
    """Return the listener for a fit of ``estimator`` to so many samples."""
    printer = _LISTENER.get() or (Bar(n_samples) if verbose == 1 and _is_live() else Printer(verbose))
    callback = _CALLBACK.get()
    if callback is not None:
        printer = Both(printer, Reckoner(callback, n_samples))
    if not getattr(estimator, "_skl_callbacks", None):
        return printer
    context = estimator._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator, X=X)
    return Callbacks(estimator, context, X, printer)


def _is_live() -> bool:
    """Whether what is written can be written over: on a terminal that is not dumb, or in a notebook."""
    stream = sys.stderr
    if stream is None or getattr(stream, "closed", False):
        return False
    notebook = type(stream).__module__.startswith("ipykernel")
    return notebook or (hasattr(stream, "isatty") and stream.isatty() and os.environ.get("TERM") != "dumb")
