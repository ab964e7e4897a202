"""What landmarks cost that are means of several rows instead of rows.

python -m benchmarks.private_landmarks [--data FOLDER] [--sets digits ...] [--rows 1 3 5 10] [--seeds 5] [--jobs 2]
    [--fresh]

Accuracy and adjusted Rand index by ``rows_per_landmark``, with the number of landmarks: of the default map, which
is a graph where it is clear, and of a kernel's landmarks. A second line has as many rows for landmarks as there
were means: what is lost there is lost by their number, and not by averaging. Columns are prepared as in the
study. Rows go to benchmarks/results/private_landmarks.jsonl; a run that was stopped goes on where it was, and
--fresh runs again what it names.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.contender import Contender, add_run_options, run_jobs, timed_fit
from benchmarks.datasets import data_folder
from benchmarks.harness.store import Row, Store
from benchmarks.report import print_table
from benchmarks.study.sets import find_set, load
from powerkmeans.metrics import clustering_accuracy

SETS, MAPS, ROWS = ("digits", "iris", "wine", "HW2", "handwritten"), ("auto", "nystroem"), (1, 3, 5, 10)
MEANS, AS_MANY = "means", "as many rows"
KEYS = ("data", "map", "landmarks", "rows", "seed")


class Job(NamedTuple):
    """One fit; ``landmarks`` are means of so many rows, or as many rows as there would be means."""

    data: str
    feature_map: str
    landmarks: str
    rows: int
    seed: int

    @property
    def key(self) -> tuple[str, str, str, int, int]:
        return (self.data, self.feature_map, self.landmarks, self.rows, self.seed)

    def row(self) -> Row:
        return dict(zip(KEYS, self.key, strict=True))


def measure(job: Job, folder: Path) -> Row:
    """Fit and score."""
    views, y = load(job.data, folder, job.seed, find_set(job.data).inputs)
    k = len(np.unique(y))
    found = timed_fit(_averaging(job), views, k, job.seed)
    if job.landmarks == AS_MANY:
        count = int(np.max(found.model.n_components_))
        found = timed_fit(Contender(job.feature_map, (("n_components", count),)), views, k, job.seed)
    labels = found.model.labels_
    return {
        "ACC": clustering_accuracy(y, labels),
        "ARI": float(adjusted_rand_score(y, labels)),
        "n_landmarks": int(np.max(found.model.n_components_)),
        "chosen": str(np.ravel(found.model.feature_map_)[0]),
        "cpu_seconds": round(found.cpu_seconds, 4),
    }


def _averaging(job: Job) -> Contender:
    return Contender(job.feature_map, (("rows_per_landmark", job.rows),))


def lines(rows: Iterable[Row], sets: Sequence[str], counts: Sequence[int]) -> list[list[object]]:
    """A line a set, map and kind of landmarks."""
    good, table = [row for row in rows if "error" not in row], list[list[object]]()
    for data in sets:
        for name in MAPS:
            for kind in (MEANS, AS_MANY):
                found = [row for row in good if (row["data"], row["map"], row["landmarks"]) == (data, name, kind)]
                cells = [_cell([row for row in found if row["rows"] == count]) for count in counts]
                table.append([data, name, kind, *cells])
    return table


def _cell(rows: list[Row]) -> str:
    """Mean accuracy, mean Rand index and the median number of landmarks."""
    if not rows:
        return "-"
    accuracy, rand = (np.mean([row[name] for row in rows]) for name in ("ACC", "ARI"))
    return f"{accuracy:.3f}, {rand:.3f} ({np.median([row['n_landmarks'] for row in rows]):.0f})"


def parse(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of .npz data sets (default: $POWERKMEANS_DATA)")
    parser.add_argument("--sets", nargs="+", choices=SETS, metavar="SET", default=list(SETS))
    parser.add_argument("--rows", nargs="+", type=int, default=list(ROWS), help="rows per landmark")
    parser.add_argument("--seeds", type=int, default=5)
    add_run_options(parser)
    return parser.parse_args(given)


def jobs_of(arguments: argparse.Namespace) -> list[Job]:
    """All fits; rows as they are need no second line."""
    kinds = [(kind, rows) for rows in arguments.rows for kind in (MEANS, AS_MANY) if kind == MEANS or rows > 1]
    seeds = range(arguments.seeds)
    return [
        Job(data, name, kind, rows, seed)
        for data in arguments.sets
        for seed in seeds
        for name in MAPS
        for kind, rows in kinds
    ]


def main(given: list[str] | None = None) -> None:
    arguments = parse(given)
    jobs, store = jobs_of(arguments), Store("private_landmarks", KEYS)
    folder: Any = Path()
    if any(find_set(data).needs_folder for data in arguments.sets):
        folder = data_folder(arguments.data)
    rows = run_jobs(store, jobs, partial(measure, folder=folder), arguments, "private landmarks")
    print(f"ACC, ARI (landmarks) by rows_per_landmark, means of {arguments.seeds} seeds")
    header = ["data", "feature_map", "landmarks", *map(str, arguments.rows)]
    print_table(header, lines(rows, arguments.sets, arguments.rows))
    print(f"rows in {store.path}")


if __name__ == "__main__":
    main()
