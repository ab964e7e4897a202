"""What a method is to every benchmark: views, number of clusters and seed in, labels out."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np

Views = list[np.ndarray]
GIGABYTE = 1e9
OUT_OF_MEMORY = "out of memory"


class Answer(NamedTuple):
    """Labels of all rows, and what else a method tells: iterations of all starts, its own time and peak memory.

    ``predict`` labels the same columns of other rows, where a method can.
    """

    labels: np.ndarray
    iterations: int | None = None
    seconds: float | None = None
    peak_bytes: int | None = None
    note: str = ""
    predict: Callable[[Views], np.ndarray] | None = None


Run = Callable[..., Answer]


@dataclass(frozen=True)
class Method:
    """One way to cluster: ``run(views, k, seed, **setting)``.

    ``several`` tells whether it takes several views; others get all columns side by side as their only view.
    ``module`` is what it imports, ``install`` the distribution that brings it. ``grid`` has the settings that the
    paper's protocol tunes on the labels; without a setting a method runs with its defaults. ``bytes_needed`` of
    the number of rows and views is what its largest arrays take.
    """

    run: Run
    several: bool = False
    module: str = "sklearn"
    install: str = "scikit-learn"
    most_rows: int | None = None
    most_views: int | None = None
    bytes_needed: Callable[[int, int], float] | None = None
    grid: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def available(self) -> bool:
        """Whether its module can be imported, which also keeps the import out of the first fit's time."""
        return not self.why_missing()

    def load(self) -> None:
        """Import what it needs in this process."""
        importlib.import_module(self.module)

    def why_missing(self) -> str:
        """Why it cannot be run here, in one line; empty if it can."""
        try:
            self.load()
        except ImportError as error:
            wanted = f"pip install {self.install}" if self.install else "no module of that name here"
            return f"{wanted} ({str(error).splitlines()[0]})"
        return ""

    def why_too_large(self, rows: int, views: int, memory: float) -> str:
        """Why so many rows and views are too many for so many bytes, in one line; empty if they are not."""
        if self.bytes_needed is not None and self.bytes_needed(rows, views) > memory:
            needed, given = (value / GIGABYTE for value in (self.bytes_needed(rows, views), memory))
            return f"{OUT_OF_MEMORY} at {rows:,} rows ({needed:.0f} GB of {given:.0f})"
        if self.most_rows is not None and rows > self.most_rows:
            return f"not attempted: for at most {self.most_rows:,} rows"
        if self.most_views is not None and views > self.most_views:
            return f"not attempted: for at most {self.most_views} views"
        return ""

    def version(self) -> str:
        """The installed version of what it comes from; empty for code of this repository."""
        try:
            return version(self.install.split("==")[0]) if self.install else ""
        except PackageNotFoundError:
            return ""


def threads() -> int:
    """The number of threads that everything may use: all cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def square(n_matrices: int | None = None, entry: int = 8) -> Callable[[int, int], float]:
    """The bytes of so many matrices of rows by rows; one per view if not told."""
    return lambda rows, views: float(rows) ** 2 * entry * (n_matrices or views)


def without_setting(run: Callable[[np.ndarray, int, int], Any]) -> Run:
    """The form of the interface for a function of one array that takes no setting."""

    def answered(views: Views, k: int, seed: int) -> Answer:
        (X,) = views
        answer = run(X, k, seed)
        if not isinstance(answer, Answer):
            return Answer(answer)
        predict = answer.predict
        return answer if predict is None else answer._replace(predict=lambda others: predict(*others))

    return answered
