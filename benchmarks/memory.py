"""What a fit takes in memory beside the data: measured, asked for by its budget, and told by ``fit --dry-run``.

python -m benchmarks.memory [--threads 2] [--budget MIB] [--wide]

Each fit runs in a process of its own; the peak is of its anonymous memory, less what was there before.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.report import machine, print_table, write_lines
from benchmarks.scaling import PeakClock, anonymous_megabytes
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.engines import NumpyOptions


class Case(NamedTuple):
    """Rows of a mixture, and how they are clustered."""

    rows: int
    width: int
    clusters: int
    feature_map: str
    views: int = 1

    def split(self, X: Any) -> list[Any]:
        """The columns of each view."""
        return [np.ascontiguousarray(part) for part in np.array_split(X, self.views, axis=1)]


CASES = (
    Case(1_000_000, 10, 8, "auto"),
    Case(1_000_000, 10, 20, "auto"),
    Case(1_000_000, 50, 20, "auto"),
    Case(5_000_000, 10, 8, "auto"),
    Case(10_000_000, 10, 20, "auto"),
    Case(1_000_000, 10, 8, "nystroem"),
    Case(2_000_000, 10, 8, "nystroem"),
    Case(200_000, 50, 50, "nystroem"),
    Case(1_000_000, 10, 8, "rff"),
    Case(2_000_000, 10, 8, "rff"),
    Case(5_000_000, 10, 8, "identity"),
    Case(60_000, 2688, 10, "auto", views=3),
)


def mixture(case: Case) -> Any:
    """Rows of single precision, made in parts: what makes them is not to be seen in the peak."""
    rng = np.random.default_rng(0)
    centers = 3 * rng.standard_normal((case.clusters, case.width), dtype=np.float32)
    X = np.empty((case.rows, case.width), dtype=np.float32)
    for part in np.array_split(X, max(1, case.rows // 100_000)):
        noise = rng.standard_normal(part.shape, dtype=np.float32)
        part[:] = centers[rng.integers(case.clusters, size=len(part))] + noise
    return X


def estimator_of(case: Case) -> Any:
    estimator = KernelPowerKMeans if case.views == 1 else MultiViewPowerKMeans
    return estimator(case.clusters, feature_map=case.feature_map, random_state=0)


def given(views: list[Any]) -> Any:
    """Several views are a list, one is an array."""
    return views[0] if len(views) == 1 else views


def fit(case: Case, budget: int, threads: int) -> dict[str, Any]:
    """One fit, in this process."""
    warnings.simplefilter("ignore")
    views = case.split(mixture(case))
    estimator = estimator_of(case)
    estimator.fit(given([view[:5000] for view in views]))  # libraries are loaded
    estimator.set_params(engine=NumpyOptions(n_threads=threads, memory_budget=budget * 2**20))
    before, clock = anonymous_megabytes(), PeakClock()
    clock.start()
    estimator.fit(given(views))
    found = {
        "threads": threads,
        "budget_mb": budget,
        "data_mb": sum(view.nbytes for view in views) / 2**20,
        "peak_mb": clock.stop() - before,
    }
    return {**case._asdict(), **found}


def told(case: Case) -> float:
    """What a dry run tells of the same fit, with the budget by default, beside the data."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"rows{number}.npy" for number in range(case.views)]
        for path, view in zip(paths, case.split(mixture(case)), strict=True):
            np.save(path, view)
        asked = ["-k", str(case.clusters), "--feature-map", case.feature_map, "--membership", "fuzzy"]
        command = [sys.executable, "-m", "powerkmeans", "fit", *map(str, paths), *asked, "--dry-run", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return float(found["feature_bytes"] + found["work_bytes"]) / 2**20


def measured(case: Case, budget: int, threads: int) -> dict[str, Any]:
    """One fit, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.memory", "--fit", *map(str, (*case, budget, threads))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**found, "told_mb": told(case)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, default=2**10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--fit", nargs=7, help=argparse.SUPPRESS)
    parser.add_argument("--wide", action="store_true", help="several wide views alone")
    asked = parser.parse_args()
    if asked.fit:
        rows, width, clusters, feature_map, views, budget, threads = asked.fit
        case = Case(int(rows), int(width), int(clusters), feature_map, int(views))
        print(json.dumps(fit(case, int(budget), int(threads))))
        return
    cases = [case for case in CASES if case.views > 1 or not asked.wide]
    found = [measured(case, asked.budget, asked.threads) for case in cases]
    for name, value in machine().items():
        print(f"{name}: {value}")
    print_table(
        ["rows", "columns", "views", "k", "map", "data, MB", "budget, MB", "peak beside the data, MB", "told, MB"],
        [
            [
                r["rows"], r["width"], r["views"], r["clusters"], r["feature_map"], f"{r['data_mb']:.0f}",
                r["budget_mb"], f"{r['peak_mb']:.0f}", f"{r['told_mb']:.0f}",
            ]
            for r in found
        ],
    )  # fmt: skip
    if not asked.wide:
        print(f"written to {write_lines('memory', found)}")


if __name__ == "__main__":
    main()
