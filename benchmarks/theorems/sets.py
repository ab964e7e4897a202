"""Data that ship with scikit-learn, data made here, and real sets if a folder is named; all standardised."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import blobs_10d, data_folder, load_views
from benchmarks.theorems.verdicts import Floats
from powerkmeans.engines import NumpyOptions

Labels = NDArray[np.intp]
MOST_ROWS = 500
REAL = {"HW2": 10, "100leaves": 30}  # with the number of classes, from the first, whose rows are taken
JITTER = 1e-3
ENGINE = NumpyOptions(n_threads=1)


@dataclass(frozen=True)
class Plan:
    """How much is measured, and where real data are; none without a folder."""

    quick: bool = False
    folder: Path | None = None

    def pick(self, full: Any, quick: Any) -> Any:
        """The amount for the whole run, or for the quick one."""
        return quick if self.quick else full


@dataclass(frozen=True)
class DataSet:
    """Rows with their classes; ``median`` is the median distance, which bandwidths go by."""

    name: str
    X: Floats
    y: Labels
    median: float

    @property
    def k(self) -> int:
        return len(np.unique(self.y))

    def __str__(self) -> str:
        return f"{self.name} (n={len(self.X)}, d={self.X.shape[1]}, k={self.k})"


def standardised(name: str, X: Floats, y: NDArray[Any], seed: int = 0) -> DataSet:
    """At most ``MOST_ROWS`` rows, in units of their deviation; the exact kernel is quadratic in them."""
    X, y = np.asarray(X, dtype=np.float64), np.unique(y, return_inverse=True)[1]
    if len(X) > MOST_ROWS:
        chosen = np.random.default_rng(seed).choice(len(X), MOST_ROWS, replace=False)
        X, y = X[chosen], np.unique(y[chosen], return_inverse=True)[1]
    X = StandardScaler().fit_transform(X)
    return DataSet(name, X, y, float(np.median(pdist(X))))


def twins() -> DataSet:
    """Five points, each forty times with a jitter of a thousandth: the cost of the true clusters is almost 0."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(5), 40)
    points = rng.normal(size=(5, 8))
    return standardised("near-duplicates", points[y] + JITTER * rng.normal(size=(len(y), 8)), y)


def blobs() -> DataSet:
    X, k = blobs_10d(np.random.default_rng(0))
    return standardised("20 blobs", X, np.repeat(np.arange(k), len(X) // k))


def few_blobs() -> DataSet:
    """Three overlapping blobs in the plane."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 60)
    return standardised("3 blobs", np.array([[0, 0], [3, 0.5], [1, 3.2]])[y] + rng.normal(0, 0.8, (180, 2)), y)


_SHIPPED: dict[str, Callable[..., Any]] = {
    "digits": load_digits,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
}


def shipped(name: str) -> DataSet:
    return standardised(name, *_SHIPPED[name](return_X_y=True))


def line() -> DataSet:
    """Rows on a line, in two clusters: with a flat kernel all costs are off by one factor, chi-squared / D."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(2), 50)
    return standardised("a line", (4 * y + rng.normal(size=100))[:, None], y)


def real(name: str, folder: Path) -> DataSet:
    """The first view of a real set."""
    views, y = load_views(folder, name)
    kept = np.isin(y, np.unique(y)[: REAL[name]])
    return standardised(name, views[0][kept], y[kept])


def data_sets(plan: Plan) -> list[DataSet]:
    """All sets of a run: the quick one has generated data alone."""
    if plan.quick:
        return [few_blobs(), twins(), line()]
    sets = [*(shipped(name) for name in _SHIPPED), blobs(), twins(), line()]
    return sets + [real(name, plan.folder) for name in REAL if plan.folder is not None]


def optional_folder(given: str | None) -> Path | None:
    """The folder with real data if one is named."""
    return data_folder(given) if given or os.environ.get("POWERKMEANS_DATA") else None
