"""The data of the noise study: three real sets and one made here, each cut to as many rows as is affordable."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import load_views
from benchmarks.methods import Views

ROWS, QUICK_ROWS = 1000, 300
_SEED = 0  # of the rows that are kept and of the mixture: all seeds of the study see the same clean data
_CLUSTERS, _WIDTHS, _SPREADS = 8, (6, 12, 24), (1.3, 0.9, 0.6)
Data = tuple[Views, np.ndarray]


class DataError(RuntimeError):
    """Why a set cannot be used, in one line."""


def digits() -> Data:
    """The digits that scikit-learn brings: 8 by 8 pixels, one view."""
    X, y = load_digits(return_X_y=True)
    return [X], y


def mixture() -> Data:
    """Eight Gaussian clusters in three views of 6, 12 and 24 columns; in no view alone are all of them apart.

    Sizes fall from one to a third, and in each view another pair of clusters has the same centre.
    """
    rng = np.random.default_rng(_SEED)
    shares = np.linspace(3, 1, _CLUSTERS)
    y = rng.choice(_CLUSTERS, ROWS, p=shares / shares.sum())
    views = []
    for number, (width, spread) in enumerate(zip(_WIDTHS, _SPREADS, strict=True)):
        centres = rng.normal(0, spread, (_CLUSTERS, width))
        centres[2 * number] = centres[2 * number + 1]
        views.append(centres[y] + rng.normal(size=(ROWS, width)))
    return views, y


def _from_file(name: str) -> Callable[[Path | None], Data]:
    def load(folder: Path | None) -> Data:
        if folder is None:
            raise DataError(f"{name}: name the folder of data sets with --data FOLDER or POWERKMEANS_DATA")
        try:
            return load_views(folder, name)
        except SystemExit as error:
            raise DataError(f"{name}: {error}") from None

    return load


SETS: dict[str, Callable[[Path | None], Data]] = {
    "HW2": _from_file("HW2"),
    "handwritten": _from_file("handwritten"),
    "digits": lambda _folder: digits(),
    "mixture": lambda _folder: mixture(),
}
KINDS = {
    "HW2": "real, 2 views",
    "handwritten": "real, 6 views",
    "digits": "real, 1 view",
    "mixture": "synthetic, 3 views",
}
N_VIEWS = {"HW2": 2, "handwritten": 6, "digits": 1, "mixture": 3}
QUICK = ("digits", "mixture")


@lru_cache(maxsize=2)
def loaded(name: str, rows: int, folder: Path | None) -> Data:
    """Views and classes of so many rows, drawn once for all; nothing is scaled yet."""
    views, y = SETS[name](folder)
    kept = np.sort(np.random.default_rng(_SEED).permutation(len(y))[:rows])
    return [np.asarray(view, dtype=np.float64)[kept] for view in views], np.asarray(y)[kept]


def standardised(views: Views) -> Views:
    """Columns of mean 0 and deviation 1, spoilt rows among them: whoever gets the data cannot leave them out."""
    return [StandardScaler().fit_transform(view) for view in views]
