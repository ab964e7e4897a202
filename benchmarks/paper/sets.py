"""The paper's data sets as far as they can be had, and what kind of copy each is."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import real_views
from benchmarks.methods import Views

EXACT = "exact"
RAW, STANDARDISED = "raw", "standardised"


class DataError(RuntimeError):
    """Why a data set cannot be used, in one line."""


@dataclass(frozen=True)
class DataSet:
    """One data set: its files, the views that are used, and the paper's row that it stands for.

    ``kind`` is "exact" for the numbers that the literature uses; only these are set beside the paper's.
    ``counts`` are views of counts, taken as log10(1 + x). ``scan`` is a smaller set of the same make on which
    settings are chosen. ``rows`` keeps the first rows only. Without files there are only printed numbers.
    """

    name: str
    kind: str
    files: tuple[str, ...] = ()
    views: tuple[int, ...] | None = None
    counts: tuple[int, ...] = ()
    paper: str | None = None
    seeds: int = 20
    scan: DataSet | None = None
    rows: int | None = None

    @property
    def comparable(self) -> bool:
        """Whether the paper's numbers may stand beside the ones measured."""
        return self.kind == EXACT and self.paper is not None

    def __str__(self) -> str:
        return f"{self.name} ({self.kind})"


def _cifar10(parts: Sequence[int]) -> tuple[str, ...]:
    return tuple(f"CIFAR10_reextracted_part{part}" for part in parts)


CIFAR10_PART = DataSet("CIFAR10, part 0", "re-extracted", _cifar10([0]))
CIFAR10 = DataSet("CIFAR10", "re-extracted", _cifar10([0, 1, 2]), paper="CIFAR10", seeds=5, scan=CIFAR10_PART)
NO_DATA = "no data"
SETS: dict[str, tuple[DataSet, ...]] = {
    "multi": (
        DataSet("LGG", "exact, 2 of 4 views", ("LGG_2of4views",), counts=(0,), paper="LGG"),
        DataSet("CESC", "stand-in for LGG", ("CESC_LGG_standin",), counts=(1, 2), paper="LGG"),
        DataSet("Caltech101-7", "re-extracted", ("Caltech101-7_reextracted",), paper="Caltech101-7"),
        DataSet("HW2", EXACT, ("HW2",), paper="HW2"),
        DataSet("handwritten", EXACT, ("handwritten",)),
        DataSet("Caltech101-20", "re-extracted", ("Caltech101-20_reextracted",), paper="Caltech101-20"),
        DataSet(
            "Caltech101-33",
            "stand-in for NUS-WIDE-SCENE",
            ("Caltech101-33_nusfeat_standin",),
            paper="NUS-WIDE-SCENE",
        ),
        DataSet("NUS-WIDE-OBJECT", NO_DATA, paper="NUS-WIDE-OBJECT"),
        CIFAR10,
    ),
    "single": (
        DataSet("Yale", EXACT, ("Yale",), paper="Yale"),
        DataSet("100leaves, view 0", EXACT, ("100leaves",), (0,), paper="100leaves"),
        DataSet(
            "Caltech101-20, view 0", "re-extracted", ("Caltech101-20_reextracted",), (0,), paper="Caltech101-20"
        ),
        DataSet("CIFAR10, deep features", NO_DATA, paper="CIFAR10"),
        DataSet("YTF10", NO_DATA, paper="YTF10"),
        DataSet("YTF20", NO_DATA, paper="YTF20"),
    ),
}
SMALL = ("LGG", "CESC", "Yale")
RAW_TOO = ("LGG", "HW2", "Yale", "100leaves, view 0")


def check(data: DataSet, folder: Path) -> tuple[int, int]:
    """Numbers of rows and of views that are used, or a :class:`DataError` that says what is wrong."""
    rows, views = 0, 0
    for file in data.files:
        path = folder / f"{file}.npz"
        if not path.is_file():
            raise DataError(f"{data.name}: {path} is missing")
        try:
            with zipfile.ZipFile(path) as archive:
                broken = archive.testzip()
                names = {name.removesuffix(".npy") for name in archive.namelist()}
            if broken is not None:
                raise DataError(f"{data.name}: {path} is broken at {broken}")
            if not {"view_0", "y"} <= names:
                raise DataError(f"{data.name}: {path} has no view_0 or no y")
            with np.load(path) as arrays:
                rows += len(arrays["y"])
        except (OSError, ValueError, EOFError, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
            raise DataError(f"{data.name}: {path} is broken ({str(error).splitlines()[0]})") from None
        views = sum(name.startswith("view_") and name != "view_names" for name in names)
    return min(rows, data.rows or rows), len(data.views or range(views))


@lru_cache(maxsize=1)
def prepared(data: DataSet, folder: Path, scaling: str) -> tuple[Views, np.ndarray]:
    """Views in single precision, scaled, and classes; the last answer is kept."""
    views, y = real_views(folder, data.files)
    chosen = data.views if data.views is not None else range(len(views))
    used = [np.log10(1 + views[i]) if i in data.counts else views[i] for i in chosen]
    used, y = [view[: data.rows] for view in used], y[: data.rows]
    if scaling == STANDARDISED:
        used = [StandardScaler().fit_transform(view) for view in used]
    return [np.ascontiguousarray(view, dtype=np.float32) for view in used], y
