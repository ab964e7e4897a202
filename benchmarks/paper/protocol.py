"""What is run: every fit of a table, with its data, method, setting and seed.

Two columns that are never mixed. "defaults": no setting, no labels seen. "tuned": the paper's protocol, in which
every setting of the grid is run with at most ``SCAN_SEEDS`` seeds ("scan"), the best mean ACC wins, and the winner
is run again with seeds that the scan has not seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from benchmarks.harness.store import Key, Row, setting_text
from benchmarks.methods import METHODS, Method, find, ours
from benchmarks.paper.sets import RAW, RAW_TOO, STANDARDISED, DataSet

DEFAULTS, SCAN, TUNED = "defaults", "scan", "tuned"
SCAN_SEEDS = 3
FIRST_TUNED_SEED = 100
NOT_RUN = -1  # in place of a seed
ALWAYS = ("KMeans(1)", "KMeans(10)")
ABLATION = (*ALWAYS, "RFF-MKPKM", "IP-RFF-MKPKM")
TABLES: dict[str, str] = {"multi": "multi", "ablation": "multi", "single": "single"}  # and whose rows they show
OURS = {"single": tuple(ours.SINGLE_VIEW), "multi": tuple(ours.MULTI_VIEW)}

# Seeds of slow cells: 20 elsewhere (5 on CIFAR10), fewer where 20 fits would take a core much over five minutes.
# In the scan ``SCAN_SEEDS``, one where it would take as long, and 0 leaves the column "tuned" empty.
FEWER_ON: dict[tuple[str, str], int] = {
    ("Caltech101-20", "MKPKM"): 5,
    ("Caltech101-33", "MKPKM"): 3,
    ("Caltech101-20", "SimpleMKKM"): 5,
    ("Caltech101-33", "SimpleMKKM"): 1,
    ("Caltech101-33", "imml EEIMVC"): 3,
    ("Caltech101-33", "imml LFIMVC"): 3,
    ("Caltech101-7", "mvlearn spectral"): 1,
    ("HW2", "mvlearn spectral"): 2,
    ("handwritten", "mvlearn spectral"): 1,
    ("CIFAR10", "KMeans(10)"): 1,
    ("CIFAR10", "KMeans(10), RBFSampler"): 2,
    ("CIFAR10", "KMeans(10), Nystroem"): 2,
    ("CIFAR10", "SpectralClustering, neighbours"): 1,
    ("CIFAR10", "LSC-R"): 1,
    ("CIFAR10", "LSC-K"): 1,
    ("CIFAR10", "U-SPEC"): 1,
}
_ONE_SEED_SCANS = {
    "handwritten": ("MKPKM",),
    "Caltech101-33": ("RFF-MKPKM", "IP-RFF-MKPKM"),
    "CIFAR10": ("RFF-MKPKM", "IP-RFF-MKPKM"),
}
FEWER_IN_SCAN: dict[tuple[str, str], int] = {("Caltech101-20", "MKPKM"): 0, ("Caltech101-33", "MKPKM"): 0} | {
    (data, method): 1 for data, methods in _ONE_SEED_SCANS.items() for method in methods
}


@dataclass(frozen=True)
class Fit:
    """One fit of a table."""

    table: str
    data: DataSet
    scaling: str
    method: str
    column: str
    seed: int
    setting: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> Key:
        text = setting_text(self.setting)
        return (self.data.name, self.scaling, self.method, self.column, text, self.seed)

    @property
    def first(self) -> Fit:
        """The fit of the first seed of the same cell."""
        return replace(self, seed=FIRST_TUNED_SEED if self.column == TUNED else 0)

    def row(self) -> Row:
        """What tells this fit from others."""
        names = {"data": self.data.name, "kind": self.data.kind, "scaling": self.scaling, "method": self.method}
        return names | {"column": self.column, "setting": self.setting, "seed": self.seed}


def table_methods(table: str) -> list[str]:
    """The methods of a table, in its order; of ours by feature map the defaults of today and of 0.1.0."""
    other_maps = (ours.GRAPH_MAP, ours.EDGE_MAP)  # which the study of defaults compares
    return list(ABLATION) if table == "ablation" else [name for name in METHODS[table] if name not in other_maps]


def grid(method: Method) -> list[dict[str, Any]]:
    """Every setting that is tried on the labels; none for a method without any."""
    if not method.grid:
        return []
    return [dict(zip(method.grid, values, strict=True)) for values in product(*method.grid.values())]


def n_seeds(data: DataSet, method: str, most: int | None) -> int:
    """How many seeds a method gets on a set."""
    wanted = min(data.seeds, FEWER_ON.get((data.name, method), data.seeds))
    return wanted if most is None else min(wanted, most)


def scalings(table: str, data: DataSet, method: str) -> tuple[str, ...]:
    """Standardised for all; ours also raw where that is cheap."""
    return (STANDARDISED, RAW) if data.name in RAW_TOO and method in OURS[table] else (STANDARDISED,)


def default_fits(table: str, data: DataSet, method: str, most: int | None = None) -> list[Fit]:
    """The fits of the column "defaults"."""
    return [
        Fit(table, data, scaling, method, DEFAULTS, seed)
        for scaling in scalings(table, data, method)
        for seed in range(n_seeds(data, method, most))
    ]


def scan_fits(table: str, data: DataSet, method: str, most: int | None = None) -> list[Fit]:
    """The fits that choose a setting by the labels."""
    seeds = FEWER_IN_SCAN.get((data.name, method), SCAN_SEEDS)
    seeds = seeds if most is None else min(seeds, most)
    return [
        Fit(table, data.scan or data, STANDARDISED, method, SCAN, seed, setting)
        for setting in grid(find(table, method))
        for seed in range(seeds)
    ]


def tuned_fits(table: str, data: DataSet, method: str, setting: dict, most: int | None = None) -> list[Fit]:
    """The fits of a chosen setting, with fresh seeds."""
    return [
        Fit(table, data, STANDARDISED, method, TUNED, FIRST_TUNED_SEED + seed, setting)
        for seed in range(n_seeds(data, method, most))
    ]


def attempt(table: str, data: DataSet, method: str) -> Fit:
    """The key under which it is written why a method was not run on a set."""
    return Fit(table, data, STANDARDISED, method, DEFAULTS, NOT_RUN)


def winner(rows: Iterable[Row], settings: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The setting of the best mean ACC in the rows of a scan (of equals the first in the grid), or None."""
    scores: dict[str, list[float]] = {}
    for row in rows:
        if "ACC" in row:
            scores.setdefault(setting_text(row["setting"]), []).append(row["ACC"])
    tried = [setting for setting in settings if setting_text(setting) in scores]
    if not tried:
        return None
    return max(tried, key=lambda setting: round(float(np.mean(scores[setting_text(setting)])), 12))
