"""Runs the study: every factor, its two best with more seeds, all winners together; then, once, the other side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.harness.fill import fill
from benchmarks.harness.pool import Pool
from benchmarks.harness.store import Row, Store
from benchmarks.study import rule
from benchmarks.study.factors import ADVICE, BEFORE, FACTORS, FIRST, SEVERAL_ONLY, Choice
from benchmarks.study.fits import Job, job_of
from benchmarks.study.rule import Standing
from benchmarks.study.sets import CHOSEN_ON, CONFIRMED_ON, StudySet

PEERS = ("KMeans(1)", "KMeans(10)", "KMeans(10), Nystroem", "SpectralClustering", "mvlearn spectral")
# seeds of a peer: few where a fit takes minutes
_SLOW_PEERS, _LARGE_SET_SEEDS = {"mvlearn spectral": 1}, 2


@dataclass(frozen=True)
class Settled:
    """A factor with its two tables and the level that won."""

    factor: str
    around: Choice
    scan: list[Standing]
    duel: list[Standing]
    winner: str


class Study:
    """Asks for the results that the rule needs, and runs those that are not there yet."""

    def __init__(self, store: Store, pool: Pool | None, sets: tuple[StudySet, ...] = CHOSEN_ON) -> None:
        self.store, self.pool, self.sets = store, pool, sets

    def rows(self, jobs: Iterable[Job], about: str) -> list[Row]:
        """The rows of all jobs, in their order; what is missing is run, if there is a pool."""
        jobs = list(dict.fromkeys(jobs))
        if self.pool is not None:
            fill(self.store, self.pool, jobs, about)
        return self.store.of(job.key for job in jobs)

    def compare(
        self,
        choices: dict[str, Choice],
        sets: Iterable[StudySet],
        about: str,
        full: bool,
        stands: str | None = None,
    ) -> list[Standing]:
        """Standings of named choices; ``full`` takes the seeds of a duel, else those of a scan."""
        sets = list(sets)
        wanted = [
            (level, data.name, job_of(data.name, choice, seed))
            for data in sets
            for level, choice in choices.items()
            for seed in range(data.seeds if full else data.scan_seeds)
        ]
        self.rows((job for _, _, job in wanted), about)
        results: dict[str, dict[str, list[Row]]] = {level: {} for level in choices}
        for level, data, job in wanted:
            results[level].setdefault(data, []).extend(self.store.of([job.key]))
        return rule.standings(results, {data.name: data.kind for data in sets}, stands)

    def sets_of(self, factor: str) -> list[StudySet]:
        return [data for data in self.sets if data.several or factor not in SEVERAL_ONLY]

    def scan(self, factor: str, around: Choice) -> list[Standing]:
        """All levels of a factor around a choice, with few seeds."""
        choices = {level: around | {factor: level} for level in FACTORS[factor]}
        return self.compare(choices, self.sets_of(factor), factor, full=False, stands=around[factor])

    def settle(self, factor: str, around: Choice) -> Settled:
        """The two best of the scan again, with all seeds; the winner by the rule.

        Where the scan's best is what stands already there is nothing to decide, and no duel; nor for advice.
        """
        scan = self.scan(factor, around)
        best = rule.best((found for found in scan if not FACTORS[factor][found.level].unfit), 2)
        if best[0] == around[factor] or factor in ADVICE:
            return Settled(factor, around, scan, [], around[factor])
        choices = {level: around | {factor: level} for level in best}
        duel = self.compare(choices, self.sets_of(factor), f"{factor}, duel", full=True)
        return Settled(factor, around, scan, duel, rule.best(duel)[0])

    def choose(self) -> tuple[list[Settled], list[Standing], Choice]:
        """All factors, then all winners together against the winner of the first; the better is the choice."""
        first = self.settle(FIRST, BEFORE)
        base = BEFORE | {FIRST: first.winner}
        others = [factor for factor in FACTORS if factor != FIRST]
        for factor in others:  # all scans first, so that a stopped run has them
            self.scan(factor, base)
        settled = [first, *[self.settle(factor, base) for factor in others]]
        together = base | {found.factor: found.winner for found in settled}
        choices = {"before": BEFORE, "first factor": base, "all winners": together}
        final = self.compare(choices, self.sets, "all winners", full=True, stands="before")
        return settled, final, choices[rule.best(final)[0]]

    def beside(self, choices: dict[str, Choice], side: tuple[StudySet, ...], about: str) -> dict[str, list[Row]]:
        """Rows of choices and peers on one side, by name."""
        jobs: dict[str, list[Job]] = {name: [] for name in (*choices, *PEERS)}
        for data in side:
            for name, choice in choices.items():
                jobs[name] += [job_of(data.name, choice, seed) for seed in range(data.seeds)]
            for peer in PEERS:
                jobs[peer] += [Job(data.name, seed, peer=peer) for seed in range(peer_seeds(peer, data))]
        self.rows((job for wanted in jobs.values() for job in wanted), about)
        return {name: self.store.of(job.key for job in wanted) for name, wanted in jobs.items()}

    def confirm(self, choice: Choice) -> dict[str, list[Row]]:
        """The choice, unchanged, on data that had no part in it."""
        return self.beside({"before": BEFORE, "after": choice}, CONFIRMED_ON, "confirmed on")


def peer_seeds(peer: str, data: StudySet) -> int:
    large = _LARGE_SET_SEEDS if data.seeds <= 5 else data.seeds
    return min(_SLOW_PEERS.get(peer, large), large)
