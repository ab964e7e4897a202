"""How time and memory of a feature map and of a whole fit grow with the rows, beside k-means.

python -m benchmarks.map_scaling [--maps graph auto nystroem] [--rows 10000 100000 1000000] [--repeats 3]
    [--threads 2]

Eight blobs of ten columns in single precision. Each fit is in a process of its own, after a small one that loads
all code; in one run all maps and KMeans(n_init=10) take turns. "map" is all that comes before the annealing: the
sample, the map, and the features of all rows. The memory is the peak on top of the data. Slopes are in logarithms.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from benchmarks.datasets import mixture
from benchmarks.harness.store import Row
from benchmarks.measure import fresh_high_water, risen_since
from benchmarks.methods import REFERENCE, threads
from benchmarks.report import machine, print_table, write_lines
from benchmarks.study.factors import set_constants
from powerkmeans import KernelPowerKMeans
from powerkmeans.fitting.features import prepare_features
from powerkmeans.metrics import clustering_accuracy

WIDTH, CLUSTERS, SPREAD = 10, 8, 2.0
MAPS, ROWS = ("graph", "auto", "nystroem"), (10_000, 100_000, 1_000_000)
WARM_UP_ROWS = 500
MEASURED = {"map_seconds": "map", "fit_seconds": "fit", "peak_mb": "memory"}


@contextmanager
def map_clock() -> Iterator[list[float]]:
    """Takes the seconds of all that a fit does before it anneals."""
    seconds: list[float] = []

    def timed(*given: Any) -> Any:
        start = time.perf_counter()
        prepared = prepare_features(*given)
        seconds.append(time.perf_counter() - start)
        return prepared

    with set_constants({"powerkmeans.fitting.problem.prepare_features": timed}):
        yield seconds


def labels_of(method: str, X: np.ndarray) -> np.ndarray:
    """One fit of ours with a feature map, or of k-means."""
    if method == REFERENCE:
        return KMeans(CLUSTERS, n_init=10, random_state=0).fit(X).labels_
    return KernelPowerKMeans(CLUSTERS, feature_map=method, random_state=0).fit(X).labels_


def fit(method: str, rows: int, n_threads: int) -> Row:
    """One fit in this process, with its times and peak memory."""
    warnings.simplefilter("ignore")
    X, y = mixture(rows, CLUSTERS, WIDTH, SPREAD)
    with threadpool_limits(limits=n_threads):
        labels_of(method, X[:WARM_UP_ROWS])
        before = fresh_high_water()
        with map_clock() as seconds:
            start = time.perf_counter()
            labels = labels_of(method, X)
            taken = time.perf_counter() - start
        peak = risen_since(before)
    row = {"method": method, "rows": rows, "threads": n_threads, "fit_seconds": taken, "peak_mb": peak / 1e6}
    row |= {"map_seconds": sum(seconds)} if seconds else {}
    return row | {"data_mb": X.nbytes / 1e6, "ACC": clustering_accuracy(y, labels)}


def measured(method: str, rows: int, n_threads: int) -> Row:
    """One fit in a process of its own; its error if it has none."""
    command = [sys.executable, "-m", "benchmarks.map_scaling", "--fit", method, str(rows), str(n_threads)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"its process ended with status {done.returncode}"]
        return {"method": method, "rows": rows, "threads": n_threads, "error": said[-1]}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def summary(runs: Sequence[Row]) -> Row | None:
    """Medians of the times, and the largest peak, of the fits of one method to so many rows."""
    good = [run for run in runs if "error" not in run]
    if not good:
        return None
    medians = {name: float(np.median([run[name] for run in good])) for name in good[0] if name.endswith("seconds")}
    return good[0] | medians | {"peak_mb": max(run["peak_mb"] for run in good)}


def slope(lines: Sequence[Row], name: str) -> float | None:
    """The exponent of the rows by which a measure grows, by least squares in logarithms."""
    points = [(line["rows"], line[name]) for line in lines if line.get(name, 0) > 0]
    if len(points) < 2:
        return None
    sizes, values = np.log(np.array(points, dtype=np.float64)).T
    return float(np.polyfit(sizes, values, 1)[0])


def show(lines: Sequence[Row], methods: Sequence[str]) -> None:
    """What was measured, and the slopes."""
    texts = [
        [
            f"{line['rows']:,}", line["method"], f"{line['map_seconds']:.3g}" if "map_seconds" in line else "-",
            f"{line['fit_seconds']:.3g}", f"{line['peak_mb']:.0f}", f"{line['data_mb']:.0f}", f"{line['ACC']:.3f}",
        ]
        for line in lines
    ]  # fmt: skip
    print_table(["rows", "method", "map, s", "fit, s", "peak beside the data, MB", "data, MB", "ACC"], texts)
    slopes = [[slope([line for line in lines if line["method"] == m], name) for name in MEASURED] for m in methods]
    print("\nslopes in logarithms")
    words = [[m, *["-" if s is None else f"{s:.2f}" for s in row]] for m, row in zip(methods, slopes, strict=True)]
    print_table(["method", *MEASURED.values()], words)


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--maps", nargs="+", default=list(MAPS))
    parser.add_argument("--rows", nargs="+", type=int, default=list(ROWS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=threads())
    parser.add_argument("--fit", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args(given)
    if arguments.fit:
        method, rows, n_threads = arguments.fit
        print(json.dumps(fit(method, int(rows), int(n_threads))))
        return
    methods, found, lines = [*arguments.maps, REFERENCE], list[Row](), list[Row]()
    for n in arguments.rows:
        turns = [measured(m, n, arguments.threads) for _ in range(arguments.repeats) for m in methods]
        found += turns
        line_of = {m: summary([run for run in turns if run["method"] == m]) for m in methods}
        lines += [line for line in line_of.values() if line is not None]
        for error in dict.fromkeys(f"{run['method']}: {run['error']}" for run in turns if "error" in run):
            print(f"{n:,} rows, {error}", file=sys.stderr)
    for name, value in machine().items():
        print(f"{name}: {value}")
    show(lines, methods)
    print(f"written to {write_lines('map_scaling', found)}")


if __name__ == "__main__":
    main()
