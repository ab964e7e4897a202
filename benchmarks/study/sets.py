"""The data of the study, and which side each is on: what chooses never confirms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler, normalize

from benchmarks.methods import Views
from benchmarks.paper.sets import CIFAR10_PART, RAW, SETS, DataSet, prepared
from benchmarks.study.families import FAMILIES

SYNTHETIC, REAL = "synthetic", "real"
INPUTS = ("standardised", "raw", "unit rows", "standardised, unit rows")


@dataclass(frozen=True)
class StudySet:
    """A synthetic family, or a real set with the most seeds that a scan and a duel may take on it."""

    name: str
    several: bool
    data: DataSet | None = None
    scan_seeds: int = 5
    seeds: int = 20

    @property
    def kind(self) -> str:
        return SYNTHETIC if self.data is None else REAL


def _real(table: str, name: str, several: bool = True, **more: int) -> StudySet:
    (data,) = [data for data in SETS[table] if data.name == name]
    return StudySet(name, several, data, **more)


def _cifar10(part: int) -> StudySet:
    data = replace(CIFAR10_PART, name=f"CIFAR10, part {part}", files=(f"CIFAR10_reextracted_part{part}",))
    return StudySet(data.name, True, data, scan_seeds=1, seeds=5)


_LEAVES = StudySet("100leaves", True, DataSet("100leaves", "exact", ("100leaves",)), seeds=10)
CHOSEN_ON: tuple[StudySet, ...] = (
    *[StudySet(name, name.endswith("views")) for name in FAMILIES],
    _real("multi", "handwritten"),
    _real("multi", "HW2"),
    _real("multi", "Caltech101-7"),
    _real("multi", "LGG"),
    _cifar10(0),
)
CONFIRMED_ON: tuple[StudySet, ...] = (
    _LEAVES,
    _real("single", "100leaves, view 0", several=False),
    _real("single", "Yale", several=False),
    _real("multi", "Caltech101-20", seeds=10),
    _real("multi", "Caltech101-33", seeds=10),
    _cifar10(1),
    _cifar10(2),
)
SIDES = {"chosen on": CHOSEN_ON, "confirmed on": CONFIRMED_ON}


def find_set(name: str) -> StudySet:
    (found,) = [data for side in SIDES.values() for data in side if data.name == name]
    return found


@lru_cache(maxsize=1)
def load(name: str, folder: Path, seed: int, inputs: str) -> tuple[Views, np.ndarray]:
    """Views in single precision as a method gets them, and classes; the last answer is kept."""
    found = find_set(name)
    if found.data is None:
        views, y = FAMILIES[name](np.random.default_rng([seed, list(FAMILIES).index(name)]))
    else:
        views, y = prepared(found.data, folder, RAW)
    views = [_as_input(view, inputs) for view in views]
    return [np.ascontiguousarray(view, dtype=np.float32) for view in views], y


def _as_input(view: np.ndarray, inputs: str) -> np.ndarray:
    if inputs.startswith("standardised"):
        view = StandardScaler().fit_transform(view)
    return normalize(view) if inputs.endswith("unit rows") else view
