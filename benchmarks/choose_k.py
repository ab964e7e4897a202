"""How often choose_k finds the number of clusters where it is known, and what it says of noise.

python -m benchmarks.choose_k [--seeds 3] [--data FOLDER] [--table]

Synthetic sets are drawn anew for each seed. Real ones are the same rows each time, the seed is for features and
resampling; those in files are run if their folder is given (or POWERKMEANS_DATA). Rows go to a file as they
come, and a run goes on where the last one was stopped; ``--again`` forgets the file. The rule was fixed on
other seeds. "graph" is its part of the time.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.signal import lfilter
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_moons,
    make_s_curve,
    make_swiss_roll,
)
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import load_views
from benchmarks.harness.store import Store
from benchmarks.report import print_table
from powerkmeans import choose_k
from powerkmeans.choose.rule import BY_NEIGHBOURS

KEYS = ("data", "seed")
HEADER = ("data", "right", "hits", "found", "by neighbours", "highest silhouette", "processor s", "graph")
N_ROWS = 600
BLOBS = [(3, 2), (5, 2), (8, 2), (3, 5), (5, 5), (8, 5), (12, 5), (4, 10), (10, 10), (15, 10)]
OVERLAPPING = [(3, 2, 2.0), (5, 2, 2.0), (4, 5, 4.0), (6, 10, 5.0)]
FIRST_SEED = 30


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


def rings(*radii: float, noise: float) -> Callable[[int], Any]:
    return lambda seed: _around(np.repeat(radii, N_ROWS // len(radii)), 2 * np.pi, noise, seed)


def _around(radius: np.ndarray, angle: float, noise: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    where = rng.uniform(0, angle, len(radius))
    return radius[:, None] * np.c_[np.cos(where), np.sin(where)] + rng.normal(0, noise, (len(radius), 2))


def moons(noise: float, columns: int = 0) -> Callable[[int], Any]:
    """Two moons, with columns of noise beside them."""

    def make(seed: int) -> Any:
        rng = np.random.default_rng(seed)
        return np.c_[make_moons(N_ROWS, noise=noise, random_state=seed)[0], rng.normal(0, 0.1, (N_ROWS, columns))]

    return make


def two_pairs(seed: int) -> Any:
    """Two pairs of moons side by side."""
    first, second = (make_moons(N_ROWS // 2, noise=0.06, random_state=draw)[0] for draw in (seed, seed + 100))
    return np.concatenate([first, second + np.array([4, 0])])


def spirals(arms: int) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        rng = np.random.default_rng(seed)
        radius = 2 * np.pi * rng.uniform(0.5, 1.5, N_ROWS)
        angle = radius + 2 * np.pi / arms * rng.integers(arms, size=N_ROWS)
        return radius[:, None] * np.c_[np.cos(angle), np.sin(angle)] + rng.normal(0, 0.2, (N_ROWS, 2))

    return make


def ring_and_blobs(seed: int) -> Any:
    """Two blobs in a ring."""
    rng = np.random.default_rng(seed)
    ring = _around(np.full(N_ROWS // 2, 4.0), 2 * np.pi, 0.2, seed)
    left, right = (rng.normal([at, 0], 0.4, (N_ROWS // 4, 2)) for at in (-1.2, 1.2))
    return np.concatenate([ring, left, right])


def linked(seed: int) -> Any:
    """Two rings in space, each through the other."""
    rng = np.random.default_rng(seed)
    lying, standing = (_around(np.ones(N_ROWS // 2), 2 * np.pi, 0.07, draw) for draw in (seed, seed + 100))
    nothing = rng.normal(0, 0.07, N_ROWS // 2)
    return np.concatenate([np.c_[lying, nothing], np.c_[standing[:, 0] + 1, nothing, standing[:, 1]]])


def walk(kept: float) -> Callable[[int], Any]:
    """A series of ten columns, each of which keeps so much of where it was: a thin curve in one piece."""

    def make(seed: int) -> Any:
        steps = np.random.default_rng(seed).normal(size=(N_ROWS, 10))
        return lfilter([1.0], [1.0, -kept], steps, axis=0)

    return make


def sheared(k: int) -> Callable[[int], Any]:
    """Blobs in the plane, all stretched the same way."""
    return lambda seed: blobs(k, 2, 1.0)(seed) @ np.array([[0.6, -0.64], [-0.41, 0.85]])


SHAPES = [
    *(Case(f"two moons, noise {noise}", (2,), moons(noise)) for noise in (0.06, 0.1)),
    Case("two moons and 8 columns of noise", (2,), moons(0.06, 8)),
    Case("two pairs of moons", (4,), two_pairs),
    Case("two rings, noise 0.05", (2,), rings(0.5, 1, noise=0.05)),
    Case("two rings, noise 0.08", (2,), rings(0.4, 1, noise=0.08)),
    Case("three rings", (3,), rings(1, 2, 3, noise=0.1)),
    Case("two linked rings", (2,), linked),
    Case("a ring and two blobs", (3,), ring_and_blobs),
    *(Case(f"{arms} spirals", (arms,), spirals(arms)) for arms in (2, 3)),
    *(Case(f"{k} blobs, stretched", (k,), sheared(k)) for k in (3, 5)),
]
ONE_PIECE = [
    Case("one ring", (1,), rings(1, noise=0.08)),
    Case("one moon", (1,), lambda seed: _around(np.ones(N_ROWS), np.pi, 0.08, seed)),
    Case("S curve", (1,), lambda seed: make_s_curve(N_ROWS, noise=0.05, random_state=seed)[0]),
    Case("Swiss roll", (1,), lambda seed: make_swiss_roll(N_ROWS, noise=0.3, random_state=seed)[0]),
    *(Case(f"{name}, 10-D", (1,), walk(kept)) for name, kept in (("random walk", 1.0), ("slow series", 0.99))),
    Case("triangle", (1,), lambda seed: np.random.default_rng(seed).dirichlet([1, 1, 1], N_ROWS)[:, :2]),
    Case("exponential, 5-D", (1,), lambda seed: np.random.default_rng(seed).exponential(size=(N_ROWS, 5))),
    Case("log-normal, 4-D", (1,), lambda seed: np.random.default_rng(seed).lognormal(size=(N_ROWS, 4))),
]
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
    *SHAPES,
    *ONE_PIECE,
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
    steps = list[float]()
    choice = choose_k(X, random_state=seed, progress=lambda *told: steps.append(time.process_time()))
    done = time.process_time()
    return {
        "data": case.name,
        "right": case.right,
        "seed": seed,
        "k": choice.k,
        "by": choice.by,
        "reason": choice.reason,
        "bend_deviation": choice.bend_deviation,
        "seconds": time.perf_counter() - start,
        "processor_seconds": done - busy,
        "graph_seconds": steps[-1] - steps[-2],  # the last step
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
        f"{sum(row['by'] == BY_NEIGHBOURS for row in rows)}",
        ", ".join(map(str, highest)),
        f"{np.median([row['processor_seconds'] for row in rows]):.1f}",
        f"{np.median([row['graph_seconds'] / row['processor_seconds'] for row in rows]):.2f}",
    ]


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", default=os.environ.get("POWERKMEANS_DATA"))
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--table", action="store_true", help="of what is there; runs nothing")
    arguments = parser.parse_args(given)
    store = Store("choose_k", KEYS)
    if arguments.again:
        store.discard(lambda row: True)
    chosen = list(cases(arguments.data))
    seeds = range(FIRST_SEED, FIRST_SEED + arguments.seeds)
    for seed in seeds:
        for case in chosen:
            if (case.name, seed) not in store.rows and not arguments.table:
                store.add(run(case, seed))
    there = {case: store.of((case.name, seed) for seed in seeds) for case in chosen}
    rows = [summary(case, found) for case, found in there.items() if found]
    print_table(HEADER, rows)
    print(f"rows in {store.path}")


if __name__ == "__main__":
    main()
