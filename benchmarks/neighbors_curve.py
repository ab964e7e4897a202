"""How accuracy depends on the number of neighbours in a graph, on sets that need no download.

python -m benchmarks.neighbors_curve [--sets digits moons ...] [--counts 3 5 ...] [--seeds 5] [--jobs 2] [--fresh]
    [--images docs/images]

Mean accuracy of the graph for each number, over seeds, beside landmarks; synthetic sets are drawn anew for each
seed, columns are prepared as in the study. Rows go to benchmarks/results/neighbors_curve.jsonl; a run that was
stopped goes on where it was, and --fresh runs again what it names. The picture is graph_neighbors.png.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.contender import REFERENCE_MAP, Contender, add_run_options, run_jobs, timed_fit
from benchmarks.harness.store import Row, Store
from benchmarks.paper.figures import pyplot
from benchmarks.report import print_table
from benchmarks.study.sets import find_set, load
from powerkmeans.metrics import clustering_accuracy

SETS = ("digits", "moons", "rings", "wine", "iris", "breast cancer")
COUNTS = (2, 3, 5, 7, 10, 15, 20, 30, 50, 75)
DEFAULT = 10
KEYS = ("data", "neighbors", "seed")
LANDMARKS = 0  # in place of a number of neighbours
IMAGES = Path(__file__).parents[1] / "docs" / "images"
GREY, ORANGE = "0.55", "#d55e00"


class Job(NamedTuple):
    """One fit with so many neighbours; 0: with landmarks, without a graph."""

    data: str
    neighbors: int
    seed: int

    @property
    def key(self) -> tuple[str, int, int]:
        return (self.data, self.neighbors, self.seed)

    def row(self) -> Row:
        return dict(zip(KEYS, self.key, strict=True))


def measure(job: Job) -> Row:
    """Fit and score."""
    views, y = load(job.data, Path(), job.seed, find_set(job.data).inputs)
    who = Contender("graph", (("n_neighbors", job.neighbors),)) if job.neighbors else Contender(REFERENCE_MAP)
    found = timed_fit(who, views, len(np.unique(y)), job.seed)
    return {"ACC": clustering_accuracy(y, found.model.labels_), "cpu_seconds": round(found.cpu_seconds, 4)}


def curve(rows: Iterable[Row], data: str, counts: Sequence[int]) -> np.ndarray:
    """Mean accuracies for these numbers of neighbours; not a number where there are none."""
    found = [row for row in rows if row["data"] == data and "error" not in row]
    values = [[row["ACC"] for row in found if row["neighbors"] == count] for count in counts]
    return np.array([np.mean(some) if some else np.nan for some in values])


def draw(plt: Any, rows: Sequence[Row], sets: Sequence[str], counts: Sequence[int]) -> Any:
    """A small picture for each set: the graph along the number of neighbours, landmarks as a line."""
    columns = min(3, len(sets))
    lines = -(-len(sets) // columns)
    figure, grid = plt.subplots(
        lines, columns, figsize=(3.0 * columns, 2.2 * lines), layout="constrained", sharex=True, squeeze=False
    )
    for axes, data in zip(grid.flat, sets, strict=False):
        axes.axvline(DEFAULT, color=GREY, lw=1, ls=":")
        axes.axhline(curve(rows, data, [LANDMARKS])[0], color=GREY, lw=1.5, label="landmarks")
        axes.plot(counts, curve(rows, data, counts), "o-", color=ORANGE, ms=4, label="graph")
        axes.set(xscale="log", ylim=(0.4, 1.03), xticks=[], title=data)
        axes.set_xticks(counts, [f"{count}" for count in counts], fontsize=7)
        axes.minorticks_off()
    for axes in grid[-1]:
        axes.set_xlabel("n_neighbors")
    for axes in grid[:, 0]:
        axes.set_ylabel("accuracy")
    grid[0, 0].legend(frameon=False, loc="lower left")
    return figure


def parse(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, metavar="SET", default=list(SETS))
    parser.add_argument("--counts", nargs="+", type=int, default=list(COUNTS))
    parser.add_argument("--seeds", type=int, default=5)
    add_run_options(parser)
    parser.add_argument("--images", type=Path, default=IMAGES, help="folder of the picture")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> None:
    arguments = parse(given)
    sets, counts, store = arguments.sets, arguments.counts, Store("neighbors_curve", KEYS)
    seeds = range(arguments.seeds)
    jobs = [Job(data, count, seed) for data in sets for seed in seeds for count in (LANDMARKS, *counts)]
    rows = run_jobs(store, jobs, measure, arguments, "neighbours")
    header = ["data", "landmarks", *[f"{count}" for count in counts]]
    print(f"mean accuracy over {arguments.seeds} seeds, by n_neighbors")
    print_table(header, [[data, *_texts(curve(rows, data, (LANDMARKS, *counts)))] for data in sets])
    plt = pyplot()
    if plt is not None:
        arguments.images.mkdir(parents=True, exist_ok=True)
        draw(plt, rows, sets, counts).savefig(arguments.images / "graph_neighbors.png", dpi=150)
    print(f"rows in {store.path}")


def _texts(values: np.ndarray) -> list[str]:
    return [f"{value:.3f}" for value in values]


if __name__ == "__main__":
    main()
