"""How cost grows with the rows, and how memory does not.

python -m benchmarks.scaling [--most 10000000] [--file-gb 6] [--folder FOLDER]

Time of 10 fixed passes from 10^5 rows on, and its slope in logarithms; then fits to a file far larger than the
memory budget, with Fourier features and by default, and the largest anonymous memory of the process (the page
cache is not its own).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.passes import open_rows, pass_input
from benchmarks.report import machine, print_table, write_lines
from powerkmeans import KernelPowerKMeans, open_source
from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.compute.passes import run_pass
from powerkmeans.engines import NumpyOptions
from powerkmeans.features.maps.identity import IdentityMap
from powerkmeans.objective.block import block_statistics
from powerkmeans.sources import write_rows
from powerkmeans.support.files import Target

WIDTH, CLUSTERS, PASSES = 16, 10, 10
FILE_WIDTH = 100
# how files are fitted: the map, the iterations at most, the budget in megabytes; the last is the default
FILE_FITS = (("rff", 5, 512), ("rff", 300, 512), ("auto", 300, 1024))


def passes_seconds(n: int, repeats: int) -> float:
    """Median time of 10 passes over n rows of 16 features."""
    X = np.random.default_rng(0).standard_normal((n, WIDTH), dtype=np.float32)
    engine = open_rows(X).with_features((IdentityMap(WIDTH),), keep=True)
    inputs = pass_input(X[:CLUSTERS], "fuzzy", WIDTH)
    seconds = []
    with single_threaded_blas():
        for _ in range(repeats + 1):
            start = time.perf_counter()
            for _ in range(PASSES):
                run_pass(engine, inputs, block_statistics)
            seconds.append(time.perf_counter() - start)
    return float(np.median(seconds[1:]))


def anonymous_megabytes() -> float:
    """Memory of this process that is backed by no file."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    return float("nan")


class PeakClock(threading.Thread):
    """Looks at the memory every few milliseconds."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak, self._stop_now = 0.0, threading.Event()

    def run(self) -> None:
        while not self._stop_now.wait(0.005):
            self.peak = max(self.peak, anonymous_megabytes())

    def stop(self) -> float:
        self._stop_now.set()
        self.join()
        return self.peak


def write_file(path: Path, n_rows: int) -> None:
    """Rows around ten centres, written block by block."""
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((CLUSTERS, FILE_WIDTH), dtype=np.float32) * 2

    def parts() -> Any:
        for start in range(0, n_rows, 100_000):
            size = min(100_000, n_rows - start)
            yield centers[rng.integers(CLUSTERS, size=size)] + rng.standard_normal(
                (size, FILE_WIDTH), dtype=np.float32
            )

    write_rows(Target(path), n_rows, np.float32, (FILE_WIDTH,), parts())


def fit_file(path: str, feature_map: str, max_iter: int, budget: int) -> dict[str, Any]:
    """Fit and predict from a file within the budget; run in a process of its own."""
    warnings.simplefilter("ignore")
    source, clock = open_source(path), PeakClock()
    before = anonymous_megabytes()
    clock.start()
    start = time.perf_counter()
    options = NumpyOptions(memory_budget=budget * 2**20)
    model = KernelPowerKMeans(
        CLUSTERS, feature_map=feature_map, max_iter=max_iter, random_state=0, engine=options
    ).fit(source)
    fitted = time.perf_counter() - start
    model.predict(source, out=f"{path}.labels.npy", overwrite=True)
    return {
        "rows": source.shape[0],
        "feature_map": feature_map,
        "max_iter": max_iter,
        "gigabytes": Path(path).stat().st_size / 1e9,
        "budget_mb": budget,
        "before_mb": before,
        "peak_mb": clock.stop(),
        "fit_seconds": fitted,
        "predict_seconds": time.perf_counter() - start - fitted,
        "iterations": model.n_iter_,
    }


def measure_memory(gigabytes: list[float], folder: str | None) -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        for size in gigabytes:
            path = Path(scratch) / "rows.npy"
            write_file(path, int(size * 1e9 / (4 * FILE_WIDTH)))
            for how in FILE_FITS:
                command = [sys.executable, "-m", "benchmarks.scaling", "--fit", str(path), *map(str, how)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                rows.append({"what": "file", **json.loads(done.stdout.splitlines()[-1])})
            path.unlink()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--file-gb", type=float, nargs="*", default=[1.5, 6.0])
    parser.add_argument("--folder", help="where the file goes; needs that much room")
    parser.add_argument("--fit", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fit:
        path, feature_map, max_iter, budget = arguments.fit
        print(json.dumps(fit_file(path, feature_map, int(max_iter), int(budget))))
        return
    sizes = [n for n in (100_000, 316_000, 1_000_000, 3_160_000, 10_000_000) if n <= arguments.most]
    rows: list[dict[str, Any]] = [
        {"what": "passes", "rows": n, "seconds": passes_seconds(n, arguments.repeats)} for n in sizes
    ]
    slope = float(np.polyfit(np.log(sizes), np.log([r["seconds"] for r in rows]), 1)[0])
    for name, value in machine().items():
        print(f"{name}: {value}")
    print_table(
        ["rows", f"{PASSES} passes, s", "ns per row and pass"],
        [[r["rows"], f"{r['seconds']:.3f}", f"{r['seconds'] / r['rows'] / PASSES * 1e9:.1f}"] for r in rows],
    )
    print(f"slope in logarithms: {slope:.3f}\n")
    rows += [{"what": "slope", "slope": slope}, *measure_memory(arguments.file_gb, arguments.folder)]
    print_table(
        [
            "file, GB",
            "rows",
            "map",
            "max_iter",
            "budget, MB",
            "peak anonymous, MB",
            "before, MB",
            "fit, s",
            "predict, s",
        ],
        [
            [
                f"{r['gigabytes']:.1f}",
                r["rows"],
                r["feature_map"],
                r["max_iter"],
                r["budget_mb"],
                f"{r['peak_mb']:.0f}",
                f"{r['before_mb']:.0f}",
                f"{r['fit_seconds']:.0f}",
                f"{r['predict_seconds']:.0f}",
            ]
            for r in rows
            if r["what"] == "file"
        ],
    )
    print(f"written to {write_lines('scaling', rows)}")


if __name__ == "__main__":
    main()
