"""Feature maps against each other by the study's rule: chosen on one side, confirmed on the other, beside peers.

All else is as the library has it, so a contender is a name of ``benchmarks.methods`` and no choice of levels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.harness.fill import fill
from benchmarks.harness.pool import Pool
from benchmarks.harness.store import Row, Store
from benchmarks.methods.ours import LANDMARK_MAP, MAP_CONTENDERS
from benchmarks.study import rule, run
from benchmarks.study.fits import Job
from benchmarks.study.order import KEYS as ORDER_KEYS
from benchmarks.study.order import OrderJob
from benchmarks.study.rule import Standing
from benchmarks.study.sets import SIDES, StudySet

PEERS = (*run.PEERS, "SpectralClustering, neighbours", "LSC-R", "LSC-K", "U-SPEC")
METHODS = (*MAP_CONTENDERS, *PEERS)


def jobs_of(name: str, side: Iterable[StudySet], most: int | None = None) -> list[Job]:
    """All fits of a contender or a peer to one side, with so many seeds at most."""
    return [Job(data.name, seed, peer=name) for data in side for seed in range(_seeds(name, data, most))]


def _seeds(name: str, data: StudySet, most: int | None) -> int:
    wanted = data.seeds if name in MAP_CONTENDERS else run.peer_seeds(name, data)
    return wanted if most is None else min(wanted, most)


def rows_of(
    study: run.Study, names: Sequence[str], side: Sequence[StudySet], about: str, most: int | None = None
) -> dict[str, list[Row]]:
    """Rows of the named methods on one side, run where they are missing."""
    jobs = {name: jobs_of(name, side, most) for name in names}
    study.rows((job for wanted in jobs.values() for job in wanted), about)
    return {name: study.store.of(job.key for job in wanted) for name, wanted in jobs.items()}


def choose(study: run.Study, side: Sequence[StudySet]) -> tuple[list[Standing], str]:
    """Standings of the contenders by the rule, against what stands, and the one that wins."""
    rows = rows_of(study, MAP_CONTENDERS, side, "feature maps")
    results = {name: {data.name: _on(fits, data) for data in side} for name, fits in rows.items()}
    found = rule.standings(results, {data.name: data.kind for data in side}, LANDMARK_MAP)
    return found, rule.best(found)[0]


def _on(rows: list[Row], data: StudySet) -> list[Row]:
    return [row for row in rows if row["data"] == data.name]


def sides_of(names: Sequence[str] | None) -> dict[str, tuple[StudySet, ...]]:
    """Both sides, of the named sets alone if any are named."""
    return {title: tuple(s for s in side if names is None or s.name in names) for title, side in SIDES.items()}


def run_sides(study: run.Study, names: Sequence[str] | None = None, most: int | None = None) -> None:
    """The contenders where they are chosen, then all methods on both sides; ours that failed is tried again."""
    sides = sides_of(names)
    for side in sides.values():
        keys = [job.key for name in MAP_CONTENDERS for job in jobs_of(name, side)]
        study.store.forget(keys, only_errors=True)
    rows_of(study, MAP_CONTENDERS, sides["chosen on"], "feature maps", most)
    for title, side in sides.items():
        rows_of(study, METHODS, side, f"feature maps, {title}", most)


def order_store() -> Store:
    return Store("study_order", ORDER_KEYS)


def order_jobs(side: Iterable[StudySet]) -> list[OrderJob]:
    """Every method on every set, in two orders of the rows."""
    return [OrderJob(data.name, name) for data in side for name in METHODS]


def run_order(pool: Pool, names: Sequence[str] | None = None) -> None:
    """Both sides in two orders of the rows; ours that failed is tried again."""
    store = order_store()
    for title, side in sides_of(names).items():
        jobs = order_jobs(side)
        store.forget((job.key for job in jobs if job.method in MAP_CONTENDERS), only_errors=True)
        fill(store, pool, jobs, f"order of rows, {title}")
