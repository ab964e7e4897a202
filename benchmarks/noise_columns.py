"""What a view of pure noise does to real views, by its number of columns.

python -m benchmarks.noise_columns --data FOLDER [--feature-map auto] [--with NAME=VALUE ...] [--seeds 5]

HW2 and handwritten, standardised, without and with a view of 1, 32 or 200 columns of Gaussian noise: accuracy, the
weight of the noise, and the least weight of a real view; beside landmarks (the default of 0.1.0) in the same run.
A seed is a new draw of the noise. Rows go to benchmarks/results/noise_columns.jsonl; a run that was stopped goes
on where it was, and --fresh runs again what it names.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.contender import Contender, add_options, add_run_options, contenders, run_jobs, timed_fit
from benchmarks.datasets import data_folder
from benchmarks.harness.store import Row, Store
from benchmarks.report import mean_std, print_table
from benchmarks.study.sets import load
from powerkmeans.metrics import clustering_accuracy

SETS, COLUMNS = ("HW2", "handwritten"), (0, 1, 32, 200)
KEYS = ("data", "contender", "columns", "seed")


class Job(NamedTuple):
    """One fit with so many columns of noise; 0: none."""

    data: str
    who: Contender
    columns: int
    seed: int

    @property
    def key(self) -> tuple[str, str, int, int]:
        return (self.data, str(self.who), self.columns, self.seed)

    def row(self) -> Row:
        return dict(zip(KEYS, self.key, strict=True))


def measure(job: Job, folder: Path) -> Row:
    """Add the noise, fit, and score."""
    views, y = load(job.data, folder, 0, "standardised")
    noise = np.random.default_rng(job.seed).normal(size=(len(y), job.columns)).astype(np.float32)
    given = [*views, noise] if job.columns else views
    found = timed_fit(job.who, given, len(np.unique(y)), job.seed)
    weights = np.asarray(found.model.view_weights_)[: len(views)]
    return {
        "ACC": clustering_accuracy(y, found.model.labels_),
        "noise_weight": float(found.model.view_weights_[-1]) if job.columns else None,
        "least_weight": float(weights.min()),
        "cpu_seconds": round(found.cpu_seconds, 4),
    }


def lines(rows: Iterable[Row], sets: Sequence[str], who: Sequence[Contender]) -> list[list[object]]:
    """A line a set, contender and number of columns."""
    good, table = [row for row in rows if "error" not in row], list[list[object]]()
    for data in sets:
        for one in who:
            fits = [row for row in good if (row["data"], row["contender"]) == (data, str(one))]
            for columns in COLUMNS:
                cell = [row for row in fits if row["columns"] == columns]
                if cell:
                    table.append([data, one, columns or "none", *_texts(cell, noisy=columns > 0)])
    return table


def _texts(cell: list[Row], noisy: bool) -> list[str]:
    """Accuracy, the two weights, and how many of the fits gave the noise less than every real view."""
    least = np.array([row["least_weight"] for row in cell])
    texts = [mean_std([row["ACC"] for row in cell])]
    if not noisy:
        return [*texts, "-", f"{least.mean():.3f}", "-"]
    noise = np.array([row["noise_weight"] for row in cell])
    return [*texts, f"{noise.mean():.3f}", f"{least.mean():.3f}", f"{np.sum(noise < least)} of {len(cell)}"]


def parse(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--data", help="folder of .npz data sets (default: $POWERKMEANS_DATA)")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--seeds", type=int, default=5)
    add_run_options(parser)
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> None:
    arguments = parse(given)
    who, store = contenders(arguments), Store("noise_columns", KEYS)
    jobs = [
        Job(data, one, columns, seed)
        for data in arguments.sets
        for columns in COLUMNS
        for seed in range(arguments.seeds)
        for one in who
    ]
    measured = partial(measure, folder=data_folder(arguments.data))
    rows = run_jobs(store, jobs, measured, arguments, "noise columns")
    print(f"means of {arguments.seeds} draws of the noise")
    header = [
        "data",
        "map",
        "noise columns",
        "ACC",
        "weight of the noise",
        "least of a real view",
        "noise is least in",
    ]
    print_table(header, lines(rows, arguments.sets, who))
    print(f"rows in {store.path}")


if __name__ == "__main__":
    main()
