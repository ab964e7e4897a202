"""Data for benchmarks: synthetic families made here, real sets read from a folder that the user names.

Real sets are ``.npz`` files with ``view_0 .. view_{L-1}`` (rows are samples) and ``y``; the folder comes from
``--data`` or the environment variable ``POWERKMEANS_DATA``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

Data = tuple[NDArray[np.float64], int]


def grid(rng: np.random.Generator) -> Data:
    """25 blobs on a 5 x 5 grid."""
    centers = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    return np.repeat(centers, 40, axis=0) + rng.normal(0, 0.1, (1000, 2)), 25


def blobs_2d(rng: np.random.Generator) -> Data:
    """10 blobs in the plane, some overlapping."""
    centers = rng.uniform(-10, 10, (10, 2))
    return np.repeat(centers, 100, axis=0) + rng.normal(0, 0.5, (1000, 2)), 10


def blobs_10d(rng: np.random.Generator) -> Data:
    """20 blobs in ten dimensions."""
    centers = rng.uniform(-10, 10, (20, 10))
    return np.repeat(centers, 50, axis=0) + rng.normal(0, 1.0, (1000, 10)), 20


def nested(rng: np.random.Generator) -> Data:
    """Two far groups of three near blobs."""
    groups, members = np.array([[0.0, 0.0], [20.0, 0.0]]), np.array([[0.0, 0.0], [1.5, 0.0], [0.75, 1.3]])
    centers = (groups[:, None] + members).reshape(-1, 2)
    return np.repeat(centers, 100, axis=0) + rng.normal(0, 0.15, (600, 2)), 6


def repeated(rng: np.random.Generator) -> Data:
    """50 distinct rows, each 20 times: 95 % of the rows are repeats."""
    rows = rng.normal(0, 1, (50, 5)) + np.repeat(rng.uniform(-5, 5, (10, 5)), 5, axis=0)
    return np.repeat(rows, 20, axis=0)[rng.permutation(1000)], 10


@dataclass(frozen=True)
class Texts:
    """Word counts of texts that are each about one topic, in rows of unit length: noise is most of the cost.

    sizes : texts about each topic
    length : mean number of words of a text, beside five
    common : share of words that all topics have in common
    """

    sizes: tuple[int, ...]
    length: int = 60
    common: float = 0.6
    n_words: int = 2000
    tfidf: bool = False

    @property
    def topics(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def __call__(self, rng: np.random.Generator) -> Data:
        every = rng.dirichlet(np.full(self.n_words, 0.3))
        words = (1 - self.common) * rng.dirichlet(
            np.full(self.n_words, 0.05), len(self.sizes)
        ) + self.common * every
        texts = [rng.multinomial(rng.poisson(self.length) + 5, words[topic]) for topic in self.topics]
        counts = np.array(texts, dtype=np.float64)
        if self.tfidf:
            counts *= 1 + np.log((1 + len(counts)) / (1 + np.count_nonzero(counts, axis=0)))
        return normalize(counts), len(self.sizes)


uneven_topics = Texts((300, 80, 60, 50, 40, 30))


FAMILIES: dict[str, Callable[[np.random.Generator], Data]] = {
    "5x5 grid": grid,
    "10 blobs, 2-D": blobs_2d,
    "20 blobs, 10-D": blobs_10d,
    "2x3 nested": nested,
    "95 % repeated": repeated,
    "6 uneven topics": uneven_topics,
}


def mixture(n: int, k: int, p: int, spread: float) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Overlapping Gaussians of unequal sizes and widths, and the one that each row is from."""
    rng = np.random.default_rng(0)
    centers, widths = rng.normal(0, spread, (k, p)), rng.uniform(0.6, 1.4, k)
    shares = np.linspace(1, 5, k)
    y = rng.choice(k, n, p=shares / shares.sum())
    noise = rng.standard_normal((n, p), dtype=np.float32)
    return (centers[y] + widths[y, None] * noise).astype(np.float32), y


def data_folder(given: str | None) -> Path:
    """The folder with real data sets, or an exit that says how to name it."""
    folder = given or os.environ.get("POWERKMEANS_DATA")
    if not folder:
        raise SystemExit("Name the folder of data sets with --data FOLDER or POWERKMEANS_DATA.")
    if not Path(folder).is_dir():
        raise SystemExit(f"There is no folder {folder!r}.")
    return Path(folder)


def load_views(folder: Path, name: str) -> tuple[list[NDArray[np.float64]], NDArray[np.int64]]:
    """Views and labels of one real set, as float64."""
    path = folder / f"{name}.npz"
    if not path.is_file():
        raise SystemExit(f"{path} is missing; the benchmark needs {name}.npz in the data folder.")
    with np.load(path) as file:
        n_views = sum(key.startswith("view_") and key != "view_names" for key in file.files)
        return [file[f"view_{i}"].astype(np.float64) for i in range(n_views)], file["y"]


def real_views(folder: Path, files: Sequence[str]) -> tuple[list[NDArray[np.float32]], NDArray[np.int64]]:
    """Views in single precision and classes of a set that may lie in several files."""
    parts, classes = [], []
    for file in files:
        views, y = load_views(folder, file)
        parts.append([view.astype(np.float32) for view in views])
        classes.append(y)
    return [np.vstack(views) for views in zip(*parts, strict=True)], np.concatenate(classes)
