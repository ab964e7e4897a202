"""Which fits make up the study.

A clean fit is shared by all corruptions: it is where every curve begins. Detectors are run only where there are
spoilt samples to find.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.harness.store import Key, Row
from benchmarks.noise.contenders import OURS, SHOWN, Contender, contender
from benchmarks.noise.corruptions import NOISE_VIEW, NONE, OF_SAMPLES, PERMUTED
from benchmarks.noise.sets import N_VIEWS, QUICK_ROWS, ROWS

KEYS = ("data", "corruption", "share", "method", "seed")
NOT_RUN = -1  # in place of a seed
QUICK_SEEDS = 2


@dataclass(frozen=True)
class Fit:
    """One fit of the study: a set of so many rows, how it is spoilt, and who gets it."""

    data: str
    rows: int
    corruption: str
    share: float
    method: str
    seed: int

    @property
    def key(self) -> Key:
        return (self.data, self.corruption, self.share, self.method, self.seed)

    def row(self) -> Row:
        """What tells this fit from others."""
        return dict(zip(KEYS, self.key, strict=True)) | {"rows": self.rows}


@dataclass(frozen=True)
class Extent:
    """How much of the study is run."""

    sets: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: int | None = None
    quick: bool = False

    @property
    def rows(self) -> int:
        return QUICK_ROWS if self.quick else ROWS

    @property
    def store(self) -> str:
        return "noise_quick" if self.quick else "noise"

    def n_seeds(self, who: Contender) -> int:
        slow = who.seeds < QUICK_SEEDS + 1
        wanted = (1 if slow else QUICK_SEEDS) if self.quick else who.seeds
        return wanted if self.seeds is None else min(wanted, self.seeds)


def corruptions_of(data: str) -> list[str]:
    """The corruptions of samples that a set can have."""
    return [name for name in OF_SAMPLES if name != PERMUTED or N_VIEWS[data] > 1]


def places(data: str, who: Contender, quick: bool = False) -> list[tuple[str, float]]:
    """Corruptions and shares at which a contender is run on a set, the clean one first.

    A method for several views is itself on a set of one view as soon as there is a noise view; it is left out
    there all the same, because there is no clean fit to compare with.
    """
    if N_VIEWS[data] < who.least_views or (who.sets is not None and data not in who.sets):
        return []
    shares = SHOWN if quick else who.shares
    spoilt = [(name, share) for name in corruptions_of(data) for share in shares]
    return [(NONE, 0.0), *spoilt, (NOISE_VIEW, 1.0)] if who.labels else spoilt


def fits_of(extent: Extent, data: str, method: str) -> list[Fit]:
    """All fits of a contender on a set, the clean one of the first seed in front."""
    who = contender(method)
    return [
        Fit(data, extent.rows, corruption, share, method, seed)
        for seed in range(extent.n_seeds(who))
        for corruption, share in places(data, who, extent.quick)
    ]


def attempt(extent: Extent, data: str, method: str) -> Fit:
    """The key under which it is written why a contender was not run on a set."""
    return Fit(data, extent.rows, NONE, 0.0, method, NOT_RUN)


def named(methods: Iterable[str], listed: Iterable[str]) -> set[str]:
    """Names of methods, where "ours" stands for all of ours."""
    mine = {name for name in listed if contender(name).group == OURS}
    return {name for given in methods for name in (mine if given == OURS else {given})}
