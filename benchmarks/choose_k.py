"""How often choose_k finds the number of clusters where it is known, and what it says of noise.

python -m benchmarks.choose_k [--seeds 3] [--data FOLDER]

Synthetic sets are drawn anew for each seed. Real ones are the same rows each time, the seed is for features and
resampling; those in files are run if their folder is given (or POWERKMEANS_DATA). Rows go to a file as they
come, and a run goes on where the last one was stopped; ``--again`` forgets the file. The rule was fixed on
other seeds.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import load_views
from benchmarks.harness.store import Store
from benchmarks.report import print_table
from powerkmeans import choose_k

KEYS = ("data", "seed")
N_ROWS = 600
BLOBS = [(3, 2), (5, 2), (8, 2), (3, 5), (5, 5), (8, 5), (12, 5), (4, 10), (10, 10), (15, 10)]
OVERLAPPING = [(3, 2, 2.0), (5, 2, 2.0), (4, 5, 4.0), (6, 10, 5.0)]
FIRST_SEED = 10


class Case(NamedTuple):
    """A data set: what is clustered and which numbers of clusters are right (1: nothing should stand out)."""

    name: str
    right: tuple[int, ...]
    make: Callable[[int], Any]


def blobs(k: int, d: int, spread: float) -> Callable[[int], Any]:
    return lambda seed: make_blobs(N_ROWS, centers=k, n_features=d, cluster_std=spread, random_state=seed)[0]


def unequal(seed: int) -> Any:
    """Six clusters of different sizes and widths."""
    rng = np.random.default_rng(seed)
    y = rng.choice(6, N_ROWS, p=np.arange(1, 7) / 21)
    return rng.normal(0, 3, (6, 8))[y] + rng.uniform(0.5, 1.5, 6)[y, None] * rng.normal(size=(N_ROWS, 8))


def nested(seed: int) -> Any:
    """Two far groups of three near blobs."""
    groups, members = np.array([[0.0, 0.0], [20.0, 0.0]]), np.array([[0.0, 0.0], [1.5, 0.0], [0.75, 1.3]])
    centers = (groups[:, None] + members).reshape(-1, 2)
    return np.repeat(centers, 100, axis=0) + np.random.default_rng(seed).normal(0, 0.15, (600, 2))


def few(seed: int) -> Any:
    """120 samples in 20 dimensions."""
    rng = np.random.default_rng(seed)
    return np.repeat(rng.normal(0, 1.2, (5, 20)), 24, axis=0) + rng.normal(size=(120, 20))


def two_views(seed: int) -> Any:
    """Five clusters seen whole in one view and dimly in another, and a view of noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(5, size=N_ROWS)
    clear, dim = (scale * rng.normal(size=(5, 10))[y] + rng.normal(size=(N_ROWS, 10)) for scale in (2.0, 1.0))
    return {"clear": clear, "dim": dim, "noise": rng.normal(size=(N_ROWS, 10))}


def uniform(d: int, n: int = N_ROWS) -> Callable[[int], Any]:
    return lambda seed: np.random.default_rng(seed).uniform(size=(n, d))


def normal(*widths: float) -> Callable[[int], Any]:
    return lambda seed: np.random.default_rng(seed).normal(size=(N_ROWS, len(widths))) * widths


def heavy(seed: int) -> Any:
    """One cloud with heavy tails."""
    return np.random.default_rng(seed).standard_t(3, size=(N_ROWS, 5))


SYNTHETIC = [
    *(Case(f"{k} blobs, {d}-D", (k,), blobs(k, d, 1.0)) for k, d in BLOBS),
    *(Case(f"{k} overlapping blobs, {d}-D", (k,), blobs(k, d, spread)) for k, d, spread in OVERLAPPING),
    Case("6 unequal clusters, 8-D", (6,), unequal),
    Case("2 x 3 nested", (2, 6), nested),
    Case("5 clusters, 120 rows, 20-D", (5,), few),
    Case("5 clusters, 3 views", (5,), two_views),
    *(Case(f"uniform noise, {d}-D", (1,), uniform(d)) for d in (2, 5, 10, 50)),
    Case("uniform noise, 100 rows, 4-D", (1,), uniform(4, 100)),
    Case("one Gaussian, 2-D", (1,), normal(1, 1)),
    Case("one Gaussian, 10-D", (1,), normal(*[1] * 10)),
    Case("one stretched Gaussian, 5-D", (1,), normal(4, 2, 1, 1, 1)),
    Case("one cloud, heavy tails, 5-D", (1,), heavy),
]


def scaled(load: Callable[[], Any]) -> Callable[[int], Any]:
    return lambda seed: StandardScaler().fit_transform(load().data)


REAL = [
    Case("iris", (3,), scaled(load_iris)),
    Case("wine", (3,), scaled(load_wine)),
    Case("breast cancer", (2,), scaled(load_breast_cancer)),
    Case("digits", (10,), lambda seed: load_digits().data),
]
FILES = {"HW2": 10, "handwritten": 10, "Yale": 15, "100leaves": 100}


def from_file(folder: Path, name: str) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        views, _ = load_views(folder, name)
        return [StandardScaler().fit_transform(view) for view in views]

    return make


def cases(folder: str | None) -> Iterator[Case]:
    yield from REAL
    if folder:
        yield from (Case(f"{name}, all views", (k,), from_file(Path(folder), name)) for name, k in FILES.items())
    yield from SYNTHETIC


def run(case: Case, seed: int) -> dict[str, Any]:
    X = case.make(seed)
    start, busy = time.perf_counter(), time.process_time()
    choice = choose_k(X, random_state=seed)
    return {
        "data": case.name,
        "right": case.right,
        "seed": seed,
        "k": choice.k,
        "reason": choice.reason,
        "bend_deviation": choice.bend_deviation,
        "seconds": time.perf_counter() - start,
        "processor_seconds": time.process_time() - busy,
        "table": {name: np.round(column, 5).tolist() for name, column in choice.table.items()},
    }


def summary(case: Case, rows: list[dict[str, Any]]) -> list[str]:
    found = [row["k"] for row in rows]
    highest = [row["table"]["k"][int(np.nanargmax(row["table"]["silhouette"]))] for row in rows]
    right = " or ".join("none" if k == 1 else str(k) for k in case.right)
    return [
        case.name,
        right,
        f"{sum(k in case.right for k in found)} of {len(rows)}",
        ", ".join("none" if k == 1 else str(k) for k in found),
        ", ".join(map(str, highest)),
        f"{np.median([row['processor_seconds'] for row in rows]):.1f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", default=os.environ.get("POWERKMEANS_DATA"))
    parser.add_argument("--again", action="store_true")
    arguments = parser.parse_args()
    store = Store("choose_k", KEYS)
    if arguments.again:
        store.discard(lambda row: True)
    chosen = list(cases(arguments.data))
    seeds = range(FIRST_SEED, FIRST_SEED + arguments.seeds)
    for seed in seeds:
        for case in chosen:
            if (case.name, seed) not in store.rows:
                store.add(run(case, seed))
    rows = [summary(case, store.of((case.name, seed) for seed in seeds)) for case in chosen]
    print_table(["data", "right", "hits", "found", "highest silhouette", "processor s"], rows)
    print(f"written to {store.path}")


if __name__ == "__main__":
    main()
