"""The default map beside landmarks: which one is taken, what choosing costs, and whom it helps or harms.

python -m benchmarks.default_map [--data FOLDER] [--sets SET ...] [--jobs 2] [--fresh]

One fit with each to the study's sets. "choosing" is the part of a default fit's processor time that only tells
which map to take: all but the first graph where the graph is taken, and all of the graph where it is not. Samples
right with one of both alone are compared by the exact form of McNemar's test, one-sided; its p is the chance that
landmarks are right alone so often if both were as good. Of many sets one has a small p by chance, so beside it
stands what Holm's correction for all of them leaves. Clouds of many rows are there for their times. Rows go to
benchmarks/results/default_map.jsonl; a run that was stopped goes on where it was, and --fresh runs again what it
names. Without a folder the sets that ship with scikit-learn and the synthetic ones are fitted.
"""

from __future__ import annotations

import argparse
import importlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.stats import binomtest
from sklearn.datasets import make_blobs
from sklearn.metrics.cluster import contingency_matrix

from benchmarks.contender import REFERENCE_MAP, Contender, add_run_options, run_jobs, timed_fit
from benchmarks.datasets import data_folder
from benchmarks.harness.store import Row, Store
from benchmarks.methods import Views
from benchmarks.report import print_table
from benchmarks.study.factors import set_constants
from benchmarks.study.sets import DRAWN, SIDES, find_set, load

# clouds of ten columns with so many rows, by how far samples are from their centres: clear ones, and such that run
# into each other, where the choice takes most
BLOBS = {
    f"{n:,} rows, spread {spread}": (n, spread) for n in (20_000, 100_000, 1_000_000) for spread in (2.5, 6.0)
}
LARGE = ("CIFAR10, part 0", "CIFAR10, part 1", "CIFAR10, part 2")  # landmarks take minutes
SETS = (*(one.name for side in SIDES.values() for one in side if one.name not in LARGE), *BLOBS)
KEYS = ("data",)
# what only tells which map to take, and all that is done for a graph
_CHOICE = "powerkmeans.features.graph.choice."
TIMED = {
    **{_CHOICE + name: "judging" for name in ("labels_of", "purity_of", "agree", "again", "doubt_of")},
    "powerkmeans.fitting.features.prepare_fused": "graph",
}


class Job(NamedTuple):
    """Both fits to one set."""

    data: str

    @property
    def key(self) -> tuple[str]:
        return (self.data,)

    def row(self) -> Row:
        return {"data": self.data}


class Clock:
    """Processor seconds of calls of functions, by their kind."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(TIMED.values(), 0.0)

    def timing(self, kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any) -> Any:
            start = time.process_time()
            try:
                return function(*given)
            finally:
                self.seconds[kind] += time.process_time() - start

        return timed


def named(name: str) -> Callable[..., Any]:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def rows_of(name: str, folder: Path) -> tuple[Views, NDArray[Any]]:
    if name in BLOBS:
        n, spread = BLOBS[name]
        X, y = make_blobs(n, 10, centers=8, cluster_std=spread, random_state=0)
        return [X.astype(np.float32)], y
    return load(name, folder, 0, find_set(name).inputs)


def measure(job: Job, folder: Path) -> Row:
    """Fit by both, and compare them sample by sample."""
    views, y = rows_of(job.data, folder)
    k, clock = len(np.unique(y)), Clock()
    with set_constants({name: clock.timing(kind, named(name)) for name, kind in TIMED.items()}):
        default = timed_fit(Contender("auto"), views, k, 0)
    landmarks = timed_fit(Contender(REFERENCE_MAP), views, k, 0)
    taken = str(np.ravel(default.model.feature_map_)[0])
    ours, theirs = right(y, default.model.labels_), right(y, landmarks.model.labels_)
    return {
        "n": len(y),
        "map": taken,
        "ACC": float(np.mean(ours)),
        "ACC_landmarks": float(np.mean(theirs)),
        "only_default": int(np.sum(ours & ~theirs)),
        "only_landmarks": int(np.sum(theirs & ~ours)),
        "cpu_seconds": round(default.cpu_seconds, 4),
        "choosing_seconds": round(clock.seconds["judging" if taken == "graph" else "graph"], 4),
        "cpu_seconds_landmarks": round(landmarks.cpu_seconds, 4),
    }


def right(y: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Which samples are in the cluster that the best one-to-one matching gives to their class."""
    _, classes = np.unique(y, return_inverse=True)
    of_class, of_cluster = linear_sum_assignment(contingency_matrix(classes, labels), maximize=True)
    matched = dict(zip(np.unique(labels)[of_cluster], of_class, strict=True))
    return np.array([matched.get(label, -1) for label in labels]) == classes


def chance(ours: int, theirs: int) -> float:
    """The exact p of McNemar's test that theirs are better, of samples that one of two answers alone has right."""
    return float(binomtest(theirs, ours + theirs, alternative="greater").pvalue) if ours + theirs else 1.0


def corrected(values: Sequence[float]) -> list[float]:
    """Holm's correction: the chance of one such value among all."""
    order, result, most = np.argsort(values), np.ones(len(values)), 0.0
    for rank, place in enumerate(order):
        most = max(most, min(1.0, (len(values) - rank) * values[place]))
        result[place] = most
    return [float(value) for value in result]


def lines(rows: Iterable[Row]) -> list[list[str]]:
    """A line a set; the correction is for the sets of the study alone."""
    good = [row for row in rows if "error" not in row]
    of_one = {row["data"]: chance(row["only_default"], row["only_landmarks"]) for row in good}
    study = [name for name in of_one if name not in BLOBS]
    of_all = dict(zip(study, corrected([of_one[name] for name in study]), strict=True))
    return [
        [
            row["data"],
            row["map"],
            f"{row['ACC']:.3f}",
            f"{row['ACC_landmarks']:.3f}",
            f"{row['only_default']}, {row['only_landmarks']}",
            *(f"{p[row['data']]:.2g}" if row["data"] in of_all else "-" for p in (of_one, of_all)),
            f"{row['cpu_seconds']:.2f}",
            f"{row['choosing_seconds'] / row['cpu_seconds']:.2f}",
        ]
        for row in good
    ]


def parse(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("POWERKMEANS_DATA"), help="folder of .npz data sets")
    parser.add_argument("--sets", nargs="+", choices=SETS, metavar="SET", default=list(SETS))
    add_run_options(parser)
    return parser.parse_args(given)


def _needs_folder(name: str) -> bool:
    return name not in BLOBS and name not in DRAWN and find_set(name).needs_folder


def main(given: list[str] | None = None) -> None:
    arguments = parse(given)
    folder = data_folder(arguments.data) if arguments.data else Path()
    jobs = [Job(name) for name in arguments.sets if arguments.data or not _needs_folder(name)]
    store = Store("default_map", KEYS)
    rows = run_jobs(store, jobs, partial(measure, folder=folder), arguments, "default map")
    header = ["data", "map", "ACC", "landmarks", "right with one alone", "p", "of all", "seconds", "choosing"]
    print_table(header, lines(rows))
    print(f"rows in {store.path}")


if __name__ == "__main__":
    main()
