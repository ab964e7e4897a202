"""Runs what a file of rows still lacks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from benchmarks.harness.pool import Pool
from benchmarks.harness.progress import Progress
from benchmarks.harness.store import Key, Row, Store


class Job(Protocol):
    """What a worker makes a row of: its key in the file, and what tells it from others."""

    @property
    def key(self) -> Key: ...

    def row(self) -> Row: ...


def fill(store: Store, pool: Pool, jobs: Iterable[Any], about: str) -> None:
    """Run those of the jobs that have no row yet; rows are kept as they come, and errors are told."""
    missing = [job for job in dict.fromkeys(jobs) if job.key not in store.rows]
    if not missing:
        return
    progress = Progress(len(missing))
    progress.line(f"{about}: {len(missing)} fits")
    for job, row in pool.run(missing):
        store.add(job.row() | row)
        progress.step(about)
        if "error" in row:
            progress.line(f"{', '.join(map(str, job.key))}: {row['error']}")
    progress.close()
