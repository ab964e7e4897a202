"""Runs what a table or a figure still lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.harness.pool import Pool, one_line
from benchmarks.harness.progress import Progress
from benchmarks.harness.store import Row, Store
from benchmarks.methods import find, threads
from benchmarks.methods.interface import GIGABYTE, OUT_OF_MEMORY
from benchmarks.paper import protocol
from benchmarks.paper.cells import has_grid
from benchmarks.paper.fits import begin, fit
from benchmarks.paper.protocol import DEFAULTS, Fit
from benchmarks.paper.sets import DataError, DataSet, check


@dataclass(frozen=True)
class Limits:
    """Where the data are, how many processes work, and what a fit may take of time and memory (gigabytes)."""

    folder: Path
    jobs: int = 2
    seconds: float | None = 600.0
    memory: float = 24.0


def fitting_pool(limits: Limits, function: Callable[..., Row] = fit) -> Pool:
    """Workers that make rows of fits, with one thread each if there are several."""
    each = 1 if limits.jobs > 1 else threads()
    start = partial(begin, limits.seconds, each)
    if limits.jobs == 0:
        start()
    return Pool(partial(function, folder=limits.folder, threads=each), start, limits.jobs, limits.seconds)


class Runner:
    """Runs what a table still lacks, and says in one line what cannot be run."""

    def __init__(self, table: str, store: Store, pool: Pool, progress: Progress, limits: Limits) -> None:
        self.table, self.store, self.pool, self.progress, self.limits = table, store, pool, progress, limits
        self._told: set[tuple[str, str]] = set()

    def run(self, data: DataSet, methods: list[str], most: int | None) -> None:
        """All columns of one set, with at most so many seeds."""
        try:
            rows, views = check(data, self.limits.folder)
        except DataError as error:
            self.progress.line(str(error))
            self.progress.skip(planned(self.table, data, methods, most))
            return
        possible = []
        for name in methods:
            if self.possible(data, name, rows, views):
                possible.append(name)
            else:
                self.progress.skip(planned(self.table, data, [name], most))
        defaults = (f for m in possible for f in protocol.default_fits(self.table, data, m, most))
        fits = list({f.key: f for f in defaults}.values())
        fits += [f for m in possible for f in protocol.scan_fits(self.table, data, m, most)]
        self.fill(data, sorted(fits, key=lambda f: f.seed > 0 or f.column != DEFAULTS))
        fits = []
        for name in possible:
            settings = protocol.grid(find(self.table, name))
            scan = self.store.of(f.key for f in protocol.scan_fits(self.table, data, name, most))
            setting = protocol.winner(scan, settings)
            if setting is not None:
                fits += protocol.tuned_fits(self.table, data, name, setting, most)
            elif settings:
                self.progress.skip(protocol.n_seeds(data, name, most))
        self.fill(data, fits)

    def possible(self, data: DataSet, name: str, rows: int, views: int) -> bool:
        """Whether a method is here and takes so much data; if not, a row says why."""
        try:
            method = find(self.table, name)
            n_views = views if method.several else 1
            missing = method.why_missing()
            large = method.why_too_large(rows, n_views, self.limits.memory * GIGABYTE)
            why, tried = missing or large, not missing and large.startswith(OUT_OF_MEMORY)
        except (ImportError, AttributeError, TypeError) as error:
            why, tried = one_line(error), False
        if why:
            self._keep(protocol.attempt(self.table, data, name), {"error": why, "tried": tried})
        return not why

    def fill(self, data: DataSet, fits: list[Fit]) -> None:
        """Run those of the fits that have no row yet."""
        for job, row in self.pool.run(self._lacking(data, fits)):
            self._keep(job, row)
            self.progress.step(f"{job.data.name}, {job.method}")

    def _lacking(self, data: DataSet, fits: list[Fit]) -> Iterator[Fit]:
        """Fits without a row, but those of a cell, or of a method on this set, whose first fit failed."""
        for job in fits:
            gate = protocol.default_fits(self.table, data, job.method)[0]
            if job.key in self.store.rows or self._failed(job.first) or self._failed(gate):
                self.progress.skip()
            else:
                yield job

    def _failed(self, job: Fit) -> bool:
        return "error" in self.store.rows.get(job.key, {})

    def _keep(self, job: Fit, row: Row) -> None:
        """Write a row; the first error of a method on a set is told."""
        whole = job.row() | row
        if self.store.rows.get(job.key) != whole:
            self.store.add(whole)
        if "error" in row and (job.data.name, job.method) not in self._told:
            self._told.add((job.data.name, job.method))
            self.progress.line(f"{job.data.name}: {job.method}: {row['error']}")


def planned(table: str, data: DataSet, methods: list[str], most: int | None) -> int:
    """How many fits methods get on a set, if nothing fails."""
    keys = {f.key for method in methods for f in protocol.default_fits(table, data, method, most)}
    more = 0
    for method in (name for name in methods if has_grid(table, name)):
        more += len(protocol.scan_fits(table, data, method, most)) + protocol.n_seeds(data, method, most)
    return len(keys) + more
