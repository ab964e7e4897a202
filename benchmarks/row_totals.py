"""When a fit says that clusters follow the totals of rows, and what its way out is worth.

python -m benchmarks.row_totals [--data FOLDER] [--sets ...] [--seeds 5] [--jobs 2] [--fresh]

Counts of genes in cells of different depths and of words in texts of different lengths, drawn anew for each seed:
the adjusted Rand index of a fit to counts as they are, of one with metric="cosine", of one to the logarithms of
shares, and of k-means; and in how many of the fits it was said. Real sets as they come, whose totals are theirs by
right, show false alarms. Rows go to benchmarks/results/row_totals.jsonl; a run that was stopped goes on where it
was, and --fresh runs again what it names.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from benchmarks.contender import add_run_options, run_jobs
from benchmarks.datasets import data_folder
from benchmarks.harness.store import Row, Store
from benchmarks.methods import Views
from benchmarks.methods.ours import any_views
from benchmarks.report import print_table
from benchmarks.study.sets import BUNDLED
from powerkmeans import KernelPowerKMeans

MAPS, KEYS = ("auto", "nystroem"), ("data", "map", "seed")
SCORES = ("ARI", "cosine", "logs", "k-means")
SAID = "follow the totals of rows"


@dataclass(frozen=True)
class Cells:
    """Counts of genes in cells: types with some genes of their own, depths that vary, counts that scatter.

    spread : standard deviation of log depths; 0.8 are depths that differ 8 times between the outer tenths
    own : share of the genes of which a type has more, ``exp(effect)`` times as many
    scatter : variance of a gene's level in cells of one type, over its squared mean
    """

    spread: float
    n_types: int = 5
    n_cells: int = 500
    n_genes: int = 1000
    depth: float = 3000
    own: float = 0.05
    effect: float = 1.5
    scatter: float = 0.1

    def __call__(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        more = self.effect * (rng.random((self.n_types, self.n_genes)) < self.own)
        level = np.exp(rng.normal(0, 1.5, self.n_genes) + more)
        y = rng.integers(self.n_types, size=self.n_cells)
        depth = self.depth * np.exp(self.spread * rng.normal(size=self.n_cells))
        mean = depth[:, None] * (level / level.sum(axis=1, keepdims=True))[y]
        mean = mean * rng.gamma(1 / self.scatter, self.scatter, mean.shape)
        return rng.poisson(mean).astype(np.float64), y


@dataclass(frozen=True)
class Words:
    """Counts of words in texts about five topics each of which has words of its own, of lengths that vary."""

    spread: float
    n_texts: int = 600
    length: float = 60
    common: float = 0.6
    n_words: int = 2000

    def __call__(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        every, own = rng.dirichlet(np.full(self.n_words, 0.3)), rng.dirichlet(np.full(self.n_words, 0.05), 5)
        words = (1 - self.common) * own + self.common * every
        y = rng.integers(5, size=self.n_texts)
        lengths = 5 + (self.length * np.exp(self.spread * rng.normal(size=self.n_texts))).astype(int)
        texts = [rng.multinomial(length, words[topic]) for length, topic in zip(lengths, y, strict=True)]
        return np.array(texts, dtype=np.float64), y


FAMILIES: dict[str, Cells | Words] = {
    "cells of one depth": Cells(0.0),
    "cells, depths 0.3": Cells(0.3),
    "cells, depths 0.5": Cells(0.5),
    "cells, depths 0.8": Cells(0.8),
    "cells, 10 types": Cells(0.8, n_types=10, n_cells=1000),
    "cells, few own genes": Cells(0.8, own=0.02, effect=2.0),
    "cells, shallow": Cells(0.8, depth=1000),
    "texts of one length": Words(0.0),
    "texts, lengths 0.4": Words(0.4),
    "texts, lengths 0.8": Words(0.8),
}
FROM_FOLDER: dict[str, tuple[str, tuple[int, ...]]] = {  # the file, and the views
    "HW2": ("HW2", (0, 1)),
    "HW2, pixels": ("HW2", (0,)),
    "handwritten": ("handwritten", (0, 1, 2, 3, 4, 5)),
    "Yale": ("Yale", (0,)),
    "LGG, counts of micro-RNA": ("LGG_2of4views", (0,)),
}
SETS = (*FAMILIES, *BUNDLED, *FROM_FOLDER)


class Job(NamedTuple):
    """One fit to a set as it comes, and what is compared with it."""

    data: str
    feature_map: str
    seed: int

    @property
    def key(self) -> tuple[str, str, int]:
        return (self.data, self.feature_map, self.seed)

    def row(self) -> Row:
        return dict(zip(KEYS, self.key, strict=True))


def loaded(data: str, folder: Path, seed: int) -> tuple[Views, np.ndarray]:
    """Views as they come, and classes."""
    if data in FAMILIES:
        X, y = FAMILIES[data](np.random.default_rng([seed, list(FAMILIES).index(data)]))
        return [X], y
    if data in BUNDLED:
        X, y = BUNDLED[data](return_X_y=True)
        return [X], y
    name, views = FROM_FOLDER[data]
    with np.load(folder / f"{name}.npz") as file:
        return [file[f"view_{view}"].astype(np.float64) for view in views], file["y"]


def measure(job: Job, folder: Path) -> Row:
    """Fit as it comes, hear what is said, and compare."""
    views, y = loaded(job.data, folder, job.seed)
    k = len(np.unique(y))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        plain = any_views(views, k, job.seed, feature_map=job.feature_map)
    said = any(SAID in str(one.message) for one in heard)
    row = {"said": said, "ARI": float(adjusted_rand_score(y, plain.labels_))}
    return row | (_compared(views[0], y, job, k) if job.data in FAMILIES else {})


def _compared(X: np.ndarray, y: np.ndarray, job: Job, k: int) -> Row:
    """The same by directions, by logarithms of shares, and by k-means."""
    fit: Any = partial(KernelPowerKMeans, k, feature_map=job.feature_map, random_state=job.seed, advice=False)
    logs = np.log1p(1e4 * X / X.sum(axis=1, keepdims=True))
    labels = {
        "cosine": fit(metric="cosine").fit(X).labels_,
        "logs": fit().fit(logs).labels_,
        "k-means": KMeans(k, n_init=10, random_state=job.seed).fit(X).labels_,
    }
    return {name: float(adjusted_rand_score(y, found)) for name, found in labels.items()}


def lines(rows: Iterable[Row], sets: Sequence[str]) -> list[list[object]]:
    """A line a set and map."""
    good, table = [row for row in rows if "error" not in row], list[list[object]]()
    for data in sets:
        for name in MAPS:
            found = [row for row in good if (row["data"], row["map"]) == (data, name)]
            if found:
                said = f"{sum(row['said'] for row in found)} of {len(found)}"
                table.append([data, name, said, *[_mean(found, of) for of in SCORES]])
    return table


def _mean(rows: list[Row], of: str) -> str:
    return f"{np.mean([row[of] for row in rows]):.2f}" if of in rows[0] else "-"


def parse(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of .npz data sets (default: $POWERKMEANS_DATA)")
    parser.add_argument("--sets", nargs="+", choices=SETS, metavar="SET", default=list(SETS))
    parser.add_argument("--seeds", type=int, default=5)
    add_run_options(parser)
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> None:
    arguments = parse(given)
    store, seeds = Store("row_totals", KEYS), range(arguments.seeds)
    jobs = [Job(data, name, seed) for data in arguments.sets for seed in seeds for name in MAPS]
    folder = data_folder(arguments.data) if any(data in FROM_FOLDER for data in arguments.sets) else Path()
    rows = run_jobs(store, jobs, partial(measure, folder=folder), arguments, "row totals")
    print(f"how often it is said, and mean adjusted Rand index over {arguments.seeds} seeds")
    header = ["data", "feature_map", "said", "as it is", "metric='cosine'", "logs of shares", "k-means"]
    print_table(header, lines(rows, arguments.sets))
    print(f"rows in {store.path}")


if __name__ == "__main__":
    main()
