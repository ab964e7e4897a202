"""How good ours is with a feature map, and how much that hangs on the seed and on the rows.

python -m benchmarks.graph_quality [--feature-map auto] [--with NAME=VALUE ...] [--peers METHOD ...]
    [--data FOLDER] [--seeds 20] [--subsamples 20] [--sets SET ...] [--jobs 2] [--fresh]

ACC and NMI, mean and standard deviation, over seeds on all rows, and over subsamples of 90 % of the rows with one
seed; beside landmarks (the default of 0.1.0) and methods of others in the same run, which get all columns side by
side. "by counting" is the deviation over twenty such subsamples of labels that do not change: what comes of which
rows are counted alone. Columns are standardised but those of the digits, which share a unit; synthetic sets are
one draw. Rows go to
benchmarks/results/graph_quality.jsonl as they come; a run that was stopped goes on where it was, and --fresh runs
again what it names. Without a folder the sets that ship with scikit-learn and the synthetic ones are fitted.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.contender import Contender, Peer, add_options, add_run_options, contenders, run_jobs, timed_fit
from benchmarks.datasets import data_folder
from benchmarks.harness.store import Row, Store
from benchmarks.report import mean_std, print_table
from benchmarks.study.sets import find_set, load
from powerkmeans.metrics import clustering_accuracy, normalized_mutual_info

SETS = (
    *("HW2", "handwritten", "100leaves", "100leaves, view 0", "Yale", "Caltech101-7", "Caltech101-20", "CESC"),
    *("LGG", "digits", "iris", "wine", "breast cancer", "moons", "rings", "high dimension"),
)  # fmt: skip
SEED, SUBSAMPLE = "seed", "subsample"
KEYS = ("data", "contender", "varied", "number")
SHARE = 0.9  # of the rows in a subsample
COUNTED = 20  # subsamples on which the labels of all rows are counted


class Job(NamedTuple):
    """One fit: on all rows with a seed, or on a subsample with the first."""

    data: str
    who: Contender | Peer
    varied: str
    number: int

    @property
    def key(self) -> tuple[str, str, str, int]:
        return (self.data, str(self.who), self.varied, self.number)

    def row(self) -> Row:
        return dict(zip(KEYS, self.key, strict=True))


def rows_of(job: Job, n: int) -> np.ndarray:
    """The rows that a job fits, in the order of the file."""
    return np.arange(n) if job.varied == SEED else subsample(n, job.number)


def subsample(n: int, number: int) -> np.ndarray:
    return np.sort(np.random.default_rng(number).permutation(n)[: round(SHARE * n)])


def counted(y: np.ndarray, labels: np.ndarray) -> float:
    """The standard deviation of ACC over twenty subsamples of labels that stay as they are."""
    some = (subsample(len(y), number) for number in range(COUNTED))
    return float(np.std([clustering_accuracy(y[rows], labels[rows]) for rows in some]))


def measure(job: Job, folder: Path) -> Row:
    """Fit and score."""
    views, y = load(job.data, folder, 0, find_set(job.data).inputs)
    chosen, k = rows_of(job, len(y)), len(np.unique(y))
    seed = job.number if job.varied == SEED else 0
    found = timed_fit(job.who, [np.ascontiguousarray(view[chosen]) for view in views], k, seed)
    labels = np.asarray(found.model.labels_)
    alone = {"counted_std": counted(y, labels)} if job.varied == SEED else {}
    return {
        "ACC": clustering_accuracy(y[chosen], labels),
        "NMI": normalized_mutual_info(y[chosen], labels),
        "clusters": len(np.unique(labels)),
        "seconds": round(found.seconds, 4),
        "cpu_seconds": round(found.cpu_seconds, 4),
        **alone,
    }


def jobs_of(sets: Iterable[str], who: Sequence[Contender | Peer], seeds: int, subsamples: int) -> list[Job]:
    """All fits, those of one set and number side by side, so that contenders share what else the machine does."""
    counts = {SEED: seeds, SUBSAMPLE: subsamples}
    return [
        Job(data, one, varied, number)
        for data in sets
        for varied, count in counts.items()
        for number in range(count)
        for one in who
    ]


def lines(rows: Iterable[Row], sets: Sequence[str], who: Sequence[Contender | Peer]) -> list[list[str]]:
    """A line a set and contender, and the means over the sets that all contenders have."""
    good = [row for row in rows if "error" not in row]
    table, means = list[list[str]](), dict[str, list[list[float]]]()
    for data in sets:
        cells = {
            str(one): [row for row in good if (row["data"], row["contender"]) == (data, str(one))] for one in who
        }
        table += [[data, name, *_scores(cell), _counted(cell), _seconds(cell)] for name, cell in cells.items()]
        if all(cells.values()):
            for name, cell in cells.items():
                means.setdefault(name, []).append(
                    [np.mean([row[score] for row in cell]) for score in ("ACC", "NMI")]
                )
    for name, values in means.items():
        acc, nmi = np.mean(values, axis=0)
        table.append([f"mean of {len(values)} sets", name, f"{acc:.3f}", "", f"{nmi:.3f}", "", "", ""])
    return table


def _scores(cell: list[Row]) -> list[str]:
    """ACC over seeds and over subsamples, then NMI."""
    return [
        mean_std(values) if values else "-"
        for score in ("ACC", "NMI")
        for varied in (SEED, SUBSAMPLE)
        for values in [[row[score] for row in cell if row["varied"] == varied]]
    ]


def _counted(cell: list[Row]) -> str:
    values = [row["counted_std"] for row in cell if "counted_std" in row]
    return f"{np.mean(values):.3f}" if values else "-"


def _seconds(cell: list[Row]) -> str:
    seconds = [row["cpu_seconds"] for row in cell if row["varied"] == SEED]
    return f"{np.median(seconds):.3g}" if seconds else "-"


def parse(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--peers", nargs="+", default=[], metavar="METHOD", help="of the study, such as LSC-K")
    parser.add_argument("--data", default=os.environ.get("POWERKMEANS_DATA"), help="folder of .npz data sets")
    parser.add_argument("--sets", nargs="+", choices=SETS, metavar="SET", default=list(SETS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--subsamples", type=int, default=20)
    add_run_options(parser)
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> None:
    arguments = parse(given)
    folder = data_folder(arguments.data) if arguments.data else Path()
    sets = [name for name in arguments.sets if arguments.data or not find_set(name).needs_folder]
    who = [*contenders(arguments), *map(Peer, arguments.peers)]
    jobs = jobs_of(sets, who, arguments.seeds, arguments.subsamples)
    store = Store("graph_quality", KEYS)
    rows = run_jobs(store, jobs, partial(measure, folder=folder), arguments, "graph quality")
    print("mean ± standard deviation over seeds, and over subsamples of 90 % of the rows")
    scores = ["ACC, seeds", "ACC, 90 %", "NMI, seeds", "NMI, 90 %", "by counting"]
    print_table(["data", "map", *scores, "processor seconds"], lines(rows, sets, who))
    print(f"rows in {store.path}")


if __name__ == "__main__":
    main()
