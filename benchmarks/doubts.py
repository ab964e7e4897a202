"""Where the default leaves a graph although its halves agree, and what that is worth: accuracy by family.

python -m benchmarks.doubts [--seeds 5] [--unit-length]

A single column, a column of two values or a category beside numbers, more pieces than clusters, lines beside
blobs, and uneven sizes in the plane, which take coordinates of their own (``features.graph.uneven``). The rules
(those, ``features.graph.doubt``, and that no direction cuts through pieces) were written on other draws, sizes and
distances of such families, but that pieces joined by few more neighbours are no clusters was settled on the groups
of blobs here. Beside the default and the maps that it chooses from stand power k-means in the columns and KMeans
with ten starts. With --unit-length no graph has coordinates for uneven sizes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from benchmarks.contender import Contender, timed_fit
from benchmarks.report import print_table
from benchmarks.study.factors import set_constants
from powerkmeans.metrics import clustering_accuracy
from powerkmeans.types import Float64Array

MAPS = ("auto", "graph", "nystroem", "identity")
FIRST_SEED = 100
Drawn = tuple[Float64Array, NDArray[Any]]


def clouds(rng: np.random.Generator, sizes: tuple[int, ...], apart: float, columns: int = 1) -> Drawn:
    """Clouds of unit variance on a line, so far from each other."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(y), columns))
    X[:, 0] += apart * y
    return X, y


def with_words(rng: np.random.Generator, n: int, columns: int, words: int, *, scaled: bool) -> Drawn:
    """Four clusters in standardised columns, and a category of so many words that says nothing."""
    y = rng.integers(4, size=n)
    X = rng.normal(size=(n, columns)) + 3 * rng.normal(size=(4, columns))[y]
    category = np.eye(words)[rng.integers(words, size=n)]
    category = category[:, 1:] if words == 2 else category
    X, spread = (X - np.mean(X, axis=0)) / np.std(X, axis=0), np.std(category, axis=0)
    return np.hstack([X, (category - np.mean(category, axis=0)) / (spread if scaled else 1.0)]), y


def line_and_blob(rng: np.random.Generator, n_line: int, n_blob: int) -> Drawn:
    """A blob beside the middle of a line."""
    line = np.c_[24 * rng.random(n_line), rng.normal(0, 0.1, n_line)]
    return np.r_[line, rng.normal((12, -3), 0.4, (n_blob, 2))], np.repeat([0, 1], [n_line, n_blob])


def long_and_small(rng: np.random.Generator) -> Drawn:
    """A small dense cloud beside the middle of one that is long."""
    long = rng.normal(size=(900, 2)) * (5, 1)
    return np.r_[long, 0.3 * rng.normal(size=(60, 2)) + (0, 5)], np.repeat([0, 1], [900, 60])


def groups_of_blobs(rng: np.random.Generator, k: int, n_blobs: int, columns: int) -> Drawn:
    """Far groups of blobs that do not touch either."""
    around, group = rng.normal(0, 35, (k, columns)), np.r_[0:k, rng.integers(0, k, n_blobs - k)]
    blob = np.repeat(np.arange(n_blobs), rng.integers(40, 120, n_blobs))
    X = (around[group] + rng.normal(0, 5, (n_blobs, columns)))[blob] + rng.normal(size=(len(blob), columns))
    return X, group[blob]


FAMILIES: dict[str, Callable[[np.random.Generator], Drawn]] = {
    "one column, 400 and 400, 5.5 apart": partial(clouds, sizes=(400, 400), apart=5.5),
    "one column, 600 and 150, 5.5 apart": partial(clouds, sizes=(600, 150), apart=5.5),
    "one column, 900 and 60, 12 apart": partial(clouds, sizes=(900, 60), apart=12.0),
    "one column, 300 three times, 6 apart": partial(clouds, sizes=(300, 300, 300), apart=6.0),
    "6 numbers, yes or no": partial(with_words, n=700, columns=6, words=2, scaled=True),
    "10 numbers, yes or no": partial(with_words, n=500, columns=10, words=2, scaled=True),
    "6 numbers, 4 words": partial(with_words, n=700, columns=6, words=4, scaled=False),
    "6 numbers, 4 words, scaled": partial(with_words, n=700, columns=6, words=4, scaled=True),
    "line of 600, blob of 120": partial(line_and_blob, n_line=600, n_blob=120),
    "line of 1,500, blob of 300": partial(line_and_blob, n_line=1500, n_blob=300),
    "3 groups of 8 blobs, 3-D": partial(groups_of_blobs, k=3, n_blobs=8, columns=3),
    "5 groups of 14 blobs, 6-D": partial(groups_of_blobs, k=5, n_blobs=14, columns=6),
    "800 and 80 in the plane, 5 apart": partial(clouds, sizes=(800, 80), apart=5.0, columns=2),
    "800 and 80 in the plane, 7 apart": partial(clouds, sizes=(800, 80), apart=7.0, columns=2),
    "2,000 and twice 100 in the plane, 6 apart": partial(clouds, sizes=(2000, 100, 100), apart=6.0, columns=2),
    "a long cloud of 900, 60 beside it": long_and_small,
    "800 and 80, 4-D, 5 apart": partial(clouds, sizes=(800, 80), apart=5.0, columns=4),
}


def scores(X: Float64Array, y: NDArray[Any], seed: int) -> list[float]:
    """The accuracy with each map and of k-means, and whether the default took the graph."""
    k = len(np.unique(y))
    fits = [timed_fit(Contender(name), [X.astype(np.float32)], k, seed).model for name in MAPS]
    labels = [*(fit.labels_ for fit in fits), KMeans(k, n_init=10, random_state=seed).fit(X).labels_]
    return [*(clustering_accuracy(y, one) for one in labels), float(fits[0].feature_map_ == "graph")]


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--unit-length", action="store_true")
    options = parser.parse_args(given)
    seeds, lines = range(FIRST_SEED, FIRST_SEED + options.seeds), []
    none = {"powerkmeans.features.graph.choice.LESS": 0.0}  # nothing cuts so much less
    for name, draw in FAMILIES.items():
        with set_constants(none if options.unit_length else {}):
            found = np.array([scores(*draw(np.random.default_rng(seed)), seed) for seed in seeds])
        taken = f"{int(np.sum(found[:, -1]))} of {len(seeds)}"
        lines.append([name, *(f"{score:.3f}" for score in np.mean(found[:, :-1], axis=0)), taken])
    print_table(["family", "default", "graph", "landmarks", "the columns", "KMeans(10)", "graph taken"], lines)


if __name__ == "__main__":
    main()
