"""Raw rows by name: real sets, and mixtures of any shape.

A mixture is called ROWSxCOLUMNSkCLUSTERS, "1e6x10k20"; several views have their columns each, "1e6x5+5k20".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.datasets import mixture
from benchmarks.methods import Views
from benchmarks.paper.sets import SETS, STANDARDISED, DataSet, prepared

SPREAD = 2.0  # of the centres of a mixture, whose clusters are about 1 wide
DIGITS = "digits"
FROM_FOLDER: dict[str, DataSet] = {
    data.name: data for data in SETS["multi"] if data.name in ("HW2", "handwritten", "CIFAR10")
}
REAL = (*FROM_FOLDER, DIGITS)
_SHAPE = re.compile(r"([0-9][0-9.e]*)x([0-9]+(?:\+[0-9]+)*)k([0-9]+)")


@dataclass(frozen=True)
class Shape:
    """Rows, columns of each view, and clusters of a mixture."""

    rows: int
    widths: tuple[int, ...]
    clusters: int

    def __str__(self) -> str:
        columns = " + ".join(map(str, self.widths))
        return f"{self.rows:,} x {columns}, k={self.clusters}"

    def draw(self) -> tuple[Views, np.ndarray]:
        """The rows as views, and the cluster that each is from."""
        X, y = mixture(self.rows, self.clusters, sum(self.widths), SPREAD)
        parts = np.split(X, np.cumsum(self.widths)[:-1], axis=1)
        return [np.ascontiguousarray(part) for part in parts], y


def shape_of(name: str) -> Shape:
    """The shape that a name tells; another name is an error that says which there are."""
    found = _SHAPE.fullmatch(name)
    if found is None:
        raise ValueError(
            f"{name!r} is neither one of {', '.join(REAL)} nor a shape such as 1e6x10k20 or 1e6x5+5k20"
        )
    rows, widths, clusters = found.groups()
    return Shape(int(float(rows)), tuple(map(int, widths.split("+"))), int(clusters))


def checked_name(name: str) -> str:
    """The name of a set, as an option of a command."""
    if name not in REAL:
        shape_of(name)
    return name


def title(name: str) -> str:
    """What a table calls a set."""
    return name if name in REAL else str(shape_of(name))


def place(order: Sequence[str], name: str) -> int:
    """Where a set stands in a table; those that are not in the order come last."""
    return order.index(name) if name in order else len(order)


def load(name: str, folder: Path | None) -> tuple[Views, np.ndarray]:
    """Views in single precision as methods get them, and classes.

    Columns of different units are standardised; the pixels of the digits share one, and so do a mixture's columns.
    """
    if name == DIGITS:
        X, y = load_digits(return_X_y=True)
        return [X.astype(np.float32)], y
    if name not in FROM_FOLDER:
        return shape_of(name).draw()
    if folder is None:
        raise ValueError(f"{name} is read from a folder: --data FOLDER or POWERKMEANS_DATA")
    return prepared(FROM_FOLDER[name], folder, STANDARDISED)
