"""Runs what the study still lacks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.harness.pool import Pool
from benchmarks.harness.progress import Progress
from benchmarks.harness.store import Row, Store, key_of
from benchmarks.noise.contenders import contender
from benchmarks.noise.fits import fit
from benchmarks.noise.plan import KEYS, Extent, Fit, attempt, fits_of
from benchmarks.noise.sets import DataError, loaded
from benchmarks.paper.fits import begin


def fitting_pool(folder: Path | None, jobs: int, limit: float | None) -> Pool:
    """Workers that make rows of fits, each fit on one thread."""
    start = partial(begin, limit, 1)
    if jobs == 0:
        start()
    return Pool(partial(fit, folder=folder), start, jobs, limit)


class Runner:
    """Runs the fits that have no row, and says in one line what cannot be run."""

    def __init__(self, extent: Extent, store: Store, pool: Pool, folder: Path | None) -> None:
        self.extent, self.store, self.pool, self.folder = extent, store, pool, folder
        self.progress = Progress(sum(map(self._planned, extent.sets)))
        self._told: set[tuple[str, str]] = set()

    def _planned(self, data: str) -> int:
        return sum(len(fits_of(self.extent, data, method)) for method in self.extent.methods)

    def run(self) -> None:
        for data in self.extent.sets:
            try:
                loaded(data, self.extent.rows, self.folder)
            except DataError as error:
                self.progress.line(str(error))
                self.progress.skip(self._planned(data))
                continue
            self._run_set(data)
        self.progress.close()

    def _run_set(self, data: str) -> None:
        fits = []
        for method in self.extent.methods:
            wanted = fits_of(self.extent, data, method)
            if wanted and self._missing(data, method):
                self.progress.skip(len(wanted))
            else:
                fits += wanted
        fits.sort(key=lambda job: job.seed)  # a method that fails is known after its first seed
        for job, row in self.pool.run(self._lacking(fits)):
            self._keep(job, row)
            self.progress.step(f"{job.data}, {job.corruption}, {job.method}")

    def _missing(self, data: str, method: str) -> bool:
        """Whether a method is not installed; a row says how to get it, and goes once it is there."""
        job = attempt(self.extent, data, method)
        why = contender(method).method.why_missing()
        if why:
            self._keep(job, {"error": why})
        elif job.key in self.store.rows:
            self.store.discard(lambda row: key_of(row, KEYS) == job.key)
        return bool(why)

    def _lacking(self, fits: list[Fit]) -> Iterator[Fit]:
        """Fits without a row, but those of a method that failed on this set at its first."""
        first: dict[str, Fit] = {}
        for job in fits:
            gate = first.setdefault(job.method, job)
            if job.key in self.store.rows or "error" in self.store.rows.get(gate.key, {}):
                self.progress.skip()
            else:
                yield job

    def _keep(self, job: Fit, row: Row) -> None:
        """Write a row; the first error of a method on a set is told."""
        whole = job.row() | row
        if self.store.rows.get(job.key) != whole:
            self.store.add(whole)
        if "error" in row and (job.data, job.method) not in self._told:
            self._told.add((job.data, job.method))
            self.progress.line(f"{job.data}: {job.method}: {row['error']}")
