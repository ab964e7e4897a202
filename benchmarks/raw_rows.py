"""From raw rows to labels, end to end: time, memory and quality of a default fit beside others.

python -m benchmarks.raw_rows [--data FOLDER] [--sets ...] [--methods ...] [--repeats 1] [--threads 2] [--fresh]
    [--tables] [--page docs/benchmarks.md]

Every method gets the same columns: several views as views if it takes them, else side by side. Each fit is in a
process of its own, after a small one that loads all code; the methods of a set take turns in one run, and a set
that was not finished is run again whole, so that ratios to KMeans(10) are always of one run. The memory is the
peak on top of the data. The cost is that of k-means in the columns, the squared distances to the mean of each
cluster; a method that minimises something else has it in brackets. A method that is not installed, or not meant
for so many rows, has a line that says so. --tables prints what is on file and fits nothing; --page writes it into
its place in a page.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks.datasets import data_folder
from benchmarks.harness.fill import fill
from benchmarks.harness.pool import Pool
from benchmarks.harness.store import Row, Store
from benchmarks.measure import NeighbourClock, fresh_high_water, hard_cost, risen_since
from benchmarks.methods import OURS, REFERENCE, SINGLE, Answer, Method, Views, fast, ours, scikit, threads
from benchmarks.raw_sets import FROM_FOLDER, REAL, checked_name, load, place, title
from benchmarks.report import table_text, with_table
from powerkmeans.metrics import clustering_accuracy

NAME, KEYS = "raw_rows", ("data", "method", "repeat")
SETS = (*REAL, "1e5x10k8", "2e5x50k20", "1e6x10k8", "1e6x10k20", "1e6x50k20", "1e6x5+5k20")
IDENTITY = f"{OURS}, identity"
NYSTROEM_ROWS, SPECTRAL_ROWS = 100_000, 10_000  # ten starts on 500 features take minutes; rows by rows fill memory
WARM_UP_ROWS = 500
HEADER = ["data", "method", "fit, s", f"fit / {REFERENCE}", "predict, s", "peak beside the data, MB", "ACC or ARI",
          f"cost / {REFERENCE}"]  # fmt: skip


class Entry(NamedTuple):
    """A method of the table for one view, the one for several, and whether the cost of columns is its own."""

    single: Method
    several: Method
    own_cost: bool = True

    def of(self, n_views: int) -> Method:
        return self.single if n_views == 1 else self.several


def _ours(own_cost: bool, **parameters: Any) -> Entry:
    several = replace(ours.DEFAULTS, run=ours.many_views(**parameters), several=True)
    return Entry(replace(ours.DEFAULTS, run=ours.one_view(**parameters)), several, own_cost)


def _other(method: Method, own_cost: bool = True, **changes: Any) -> Entry:
    method = replace(method, **changes)
    return Entry(method, method, own_cost)


METHODS: dict[str, Entry] = {
    OURS: _ours(own_cost=False),
    IDENTITY: _ours(own_cost=True, feature_map="identity"),
    SINGLE: _other(scikit.KMEANS_1),
    REFERENCE: _other(scikit.KMEANS_10),
    "MiniBatchKMeans": _other(scikit.MINI_BATCH),
    "faiss": _other(fast.FAISS),
    "fastkmeans": _other(fast.FASTKMEANS),
    "KMeans(10), Nystroem": _other(scikit.NYSTROEM, own_cost=False, most_rows=NYSTROEM_ROWS),
    "SpectralClustering": _other(scikit.SPECTRAL, own_cost=False, most_rows=SPECTRAL_ROWS),
    "SpectralClustering, neighbours": _other(scikit.SPECTRAL_NEIGHBOURS, own_cost=False, most_rows=SPECTRAL_ROWS),
}


class Job(NamedTuple):
    """One fit of one method; ``run`` tells which fits were in turn with it."""

    data: str
    method: str
    repeat: int
    run: int
    threads: int
    folder: Path | None = None

    @property
    def key(self) -> tuple[str, str, int]:
        return (self.data, self.method, self.repeat)

    def row(self) -> Row:
        return dict(zip(KEYS, self.key, strict=True)) | {"run": self.run, "threads": self.threads}


def measure(job: Job) -> Row:
    """Fit, predict and score in this process; a method that cannot be run here has an error that says why."""
    views, y = load(job.data, job.folder)
    entry = METHODS[job.method]
    method = entry.of(len(views))
    missing = method.why_missing()
    why_not = f"not installed: {missing}" if missing else method.why_too_large(len(y), len(views), np.inf)
    if why_not:
        return {"error": why_not}
    X = np.hstack(views)
    given = views if method.several else [X]
    with warnings.catch_warnings(), threadpool_limits(limits=job.threads):
        warnings.simplefilter("ignore")
        row, labels = timed_fit(method, given, len(np.unique(y)))
    own_cost = entry.own_cost and not method.several  # views are weighed, which is another cost
    row |= {
        "data_mb": sum(view.nbytes for view in given) / 1e6,
        "cost": hard_cost(X, labels),
        "own_cost": own_cost,
    }
    return row | score(job.data, y, labels)


def timed_fit(method: Method, views: Views, k: int) -> tuple[Row, np.ndarray]:
    """Times and peak memory of one fit and of labels of the same rows by its model, after both on a few rows."""
    stride = max(1, len(views[0]) // WARM_UP_ROWS)
    some = [np.ascontiguousarray(view[::stride]) for view in views]
    predicted(method.run(some, k, 0), some)
    before, neighbours = fresh_high_water(), NeighbourClock()
    start = time.perf_counter()
    answer = method.run(views, k, 0)
    taken = time.perf_counter() - start
    peak = risen_since(before)
    row = {"fit_seconds": taken, "peak_mb": peak / 1e6, "predict_seconds": predicted(answer, views)}
    return row | {"others": neighbours.share()}, np.asarray(answer.labels, dtype=np.int64)


def predicted(answer: Answer, views: Views) -> float | None:
    """Seconds that a model takes to label rows; None if it labels none but its own."""
    if answer.predict is None:
        return None
    start = time.perf_counter()
    answer.predict(views)
    return time.perf_counter() - start


def score(data: str, y: np.ndarray, labels: np.ndarray) -> Row:
    """Accuracy on real sets, the adjusted Rand index on mixtures, whose clusters overlap."""
    if data in REAL:
        return {"ACC": clustering_accuracy(y, labels)}
    return {"ARI": float(adjusted_rand_score(y, labels))}


def run_set(store: Store, jobs: Sequence[Job], open_pool: Callable[[], Pool]) -> None:
    """All fits of a set, in turn, unless all are on file."""
    if all(job.key in store.rows for job in jobs):
        return
    store.forget(job.key for job in jobs)
    for job in jobs:
        with open_pool() as pool:
            fill(store, pool, [job], f"{title(job.data)}, {job.method}")


def summary(rows: Sequence[Row]) -> Row | None:
    """Medians of what the fits of one method to one set took, and the largest peak; None if there is none."""
    good = [row for row in rows if "error" not in row]
    if not good:
        return None
    numbers = {name for row in good for name, value in row.items() if isinstance(value, float)}
    medians = {name: float(np.median([row[name] for row in good if row[name] is not None])) for name in numbers}
    return good[0] | medians | {"peak_mb": max(row["peak_mb"] for row in good)}


def lines_of(rows: Sequence[Row], data: str) -> list[list[str]]:
    """The lines of one set: a method each, in their order."""
    mine = {name: [row for row in rows if row["data"] == data and row["method"] == name] for name in METHODS}
    reference = summary(mine[REFERENCE])
    lines = [_line(name, found, reference) for name, found in mine.items() if found]
    return [[title(data) if number == 0 else "", *line] for number, line in enumerate(lines)]


def _line(name: str, rows: Sequence[Row], reference: Row | None) -> list[str]:
    shown, found = f"**{name}**" if name == OURS else name, summary(rows)
    if found is None:
        return [shown, rows[0]["error"].partition(" (")[0], *[""] * (len(HEADER) - 3)]
    in_turn = reference is not None and reference["run"] == found["run"]
    ratio, cost = (_ratio(found, reference, of) if in_turn else "-" for of in ("fit_seconds", "cost"))
    seconds = [_seconds(found[what]) for what in ("fit_seconds", "predict_seconds")]
    quality = "ARI" if "ARI" in found else "ACC"
    cost = cost if found["own_cost"] or cost == "-" else f"({cost})"
    return [
        shown,
        seconds[0],
        ratio,
        seconds[1],
        f"{found['peak_mb']:.0f}",
        f"{quality} {found[quality]:.3f}",
        cost,
    ]


def _ratio(row: Row, reference: Row | None, of: str) -> str:
    assert reference is not None
    digits = 4 if of == "cost" else 2
    return f"{row[of] / reference[of]:.{digits}f}"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def table(rows: Sequence[Row]) -> str:
    """All that is on file as Markdown, and below it how busy the machine was."""
    names = sorted(dict.fromkeys(row["data"] for row in rows), key=lambda name: place(SETS, name))
    text = table_text(HEADER, [line for name in names for line in lines_of(rows, name)])
    shares = [row["others"] for row in rows if row.get("others") is not None]
    if not shares:
        return text
    usual, most = np.median(shares), max(shares)
    return f"{text}\n\nOther processes took {usual:.0%} of the cores (median of the fits; at most {most:.0%})."


def parse(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of real sets, else POWERKMEANS_DATA")
    parser.add_argument("--sets", nargs="+", type=checked_name, default=list(SETS), metavar="SET")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="METHOD")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--threads", type=int, default=threads())
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds that a fit may take")
    parser.add_argument("--fresh", action="store_true", help="run again what there are rows of")
    parser.add_argument("--here", action="store_true", help="fit in this process, for a try")
    parser.add_argument("--tables", action="store_true", help="print what is on file, fit nothing")
    parser.add_argument("--page", type=Path, help="write the table into its place in this page")
    return parser.parse_args(given)


def jobs_of(arguments: argparse.Namespace, data: str) -> list[Job]:
    """The fits of one set: methods in turn, with the reference among them."""
    methods = [name for name in METHODS if name in (*arguments.methods, REFERENCE)]
    folder = data_folder(arguments.data) if data in FROM_FOLDER else None
    run = time.time_ns()
    repeats = range(arguments.repeats)
    return [Job(data, name, repeat, run, arguments.threads, folder) for repeat in repeats for name in methods]


def main(given: list[str] | None = None) -> None:
    arguments = parse(given)
    store = Store(NAME, KEYS)
    workers = 0 if arguments.here else 1
    for data in [] if arguments.tables else arguments.sets:
        jobs = jobs_of(arguments, data)
        if arguments.fresh:
            store.forget(job.key for job in jobs)
        run_set(store, jobs, lambda: Pool(measure, no_preparation, workers, arguments.limit))
    text = table(list(store.rows.values()))
    print(text)
    if arguments.page is not None:
        arguments.page.write_text(with_table(arguments.page.read_text(), "from raw rows", text))


def no_preparation() -> None:
    """What a worker does first: the fit warms itself up."""


if __name__ == "__main__":
    main()
