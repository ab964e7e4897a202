"""Fits in worker processes: a crash, a kill and a fit over its time each cost one row, never the run."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

Row = dict[str, Any]
OVER_TIME = "over time"
_START_SECONDS = 120.0  # that a worker may take to start, before the clock of its first fit runs
_JOIN_SECONDS = 5.0
_READY: Row = {"ready": True}


def one_line(error: BaseException) -> str:
    """An error in one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def guarded(function: Callable[[Any], Row], job: Any) -> Row:
    """What the function makes of a job, or its error."""
    try:
        return function(job)
    except Exception as error:
        return {"error": one_line(error)}


def _serve(pipe: Connection, function: Callable[[Any], Row], start: Callable[[], None]) -> None:
    """A worker: jobs come in, rows go out, until the pipe is closed."""
    if hasattr(os, "setsid"):
        os.setsid()  # so that what it starts can be ended with it
    start()
    pipe.send(_READY)
    while True:
        try:
            job = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        row = guarded(function, job)
        try:
            pipe.send(row)
        except OSError:  # nobody waits for it any more
            return


@dataclass
class _Worker:
    """A process with its end of the pipe, what it works on, and until when."""

    process: BaseProcess
    pipe: Connection
    job: Any = None
    deadline: float = float("inf")
    ready: bool = False

    def give(self, job: Any, limit: float | None) -> None:
        self.job = job
        self.allow(limit if self.ready or limit is None else limit + _START_SECONDS)
        with contextlib.suppress(OSError):  # a worker that is gone is found when its answer is awaited
            self.pipe.send(job)

    def allow(self, seconds: float | None) -> None:
        """Give it so many seconds from now."""
        self.deadline = float("inf") if seconds is None else time.monotonic() + seconds

    def end(self) -> None:
        """Kill it, and what it has started."""
        if hasattr(os, "killpg") and self.process.pid is not None:
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.pipe.close()


class Pool:
    """So many workers, each started anew after a crash or a fit over ``limit`` seconds; none: in this process.

    ``function`` makes a row of a job; ``start`` is called first in every worker. Both must be importable.
    """

    def __init__(
        self, function: Callable[[Any], Row], start: Callable[[], None], workers: int, limit: float | None = None
    ) -> None:
        self._function, self._start, self._limit = function, start, limit
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[_Worker] = []
        self._size = workers

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exception: object) -> None:
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def run(self, jobs: Iterable[Any]) -> Iterator[tuple[Any, Row]]:
        """Jobs with their rows, as they come; a job is taken only when a worker is free."""
        if self._size == 0:
            for job in jobs:
                yield job, guarded(self._function, job)
            return
        waiting = iter(jobs)
        exhausted = False
        while True:
            while not exhausted and (free := self._free()) is not None:
                job = next(waiting, None)
                exhausted = job is None
                if job is not None:
                    free.give(job, self._limit)
            busy = [worker for worker in self._workers if worker.job is not None]
            if not busy:
                return
            yield from self._answers(busy)

    def _free(self) -> _Worker | None:
        """A worker that does nothing, started if there may be one more."""
        for worker in self._workers:
            if worker.job is None:
                return worker
        if len(self._workers) == self._size:
            return None
        mine, theirs = self._context.Pipe()
        arguments = (theirs, self._function, self._start)
        process = self._context.Process(target=_serve, args=arguments, daemon=False)
        process.start()
        theirs.close()
        self._workers.append(_Worker(process, mine))
        return self._workers[-1]

    def _answers(self, busy: list[_Worker]) -> Iterator[tuple[Any, Row]]:
        """Wait for an answer, a death or a deadline of at least one worker."""
        left = min(worker.deadline for worker in busy) - time.monotonic()
        ready = wait([worker.pipe for worker in busy], None if left == float("inf") else max(left, 0))
        for worker in busy:
            job = worker.job
            if worker.pipe in ready:
                row = self._received(worker)
                if row == _READY:
                    worker.ready = True
                    worker.allow(self._limit)
                else:
                    yield job, row
            elif time.monotonic() >= worker.deadline:
                self._drop(worker)
                yield job, {"error": f"{OVER_TIME}: more than {self._limit:g} s"}

    def _received(self, worker: _Worker) -> Row:
        """What a worker sends; if it is gone, the error that says so."""
        try:
            row = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join(_JOIN_SECONDS)
            self._drop(worker)
            return {"error": f"the process of the fit ended with exit code {worker.process.exitcode}"}
        if row != _READY:
            worker.job = None
        return row

    def _drop(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.end()
