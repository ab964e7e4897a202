"""What a fit takes in memory beside the data: measured, asked for by its budget, and told by ``fit --dry-run``.

python -m benchmarks.memory [--threads 2] [--budget MIB]

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
from powerkmeans import KernelPowerKMeans
from powerkmeans.engines import NumpyOptions


class Case(NamedTuple):
    """Rows of a mixture, and how they are clustered."""

    rows: int
    width: int
    clusters: int
    feature_map: str


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


def fit(case: Case, budget: int, threads: int) -> dict[str, Any]:
    """One fit, in this process."""
    warnings.simplefilter("ignore")
    X = mixture(case)
    estimator = KernelPowerKMeans(case.clusters, feature_map=case.feature_map, random_state=0)
    estimator.fit(X[:5000])  # libraries are loaded
    estimator.set_params(engine=NumpyOptions(n_threads=threads, memory_budget=budget * 2**20))
    before, clock = anonymous_megabytes(), PeakClock()
    clock.start()
    estimator.fit(X)
    found = {
        "threads": threads,
        "budget_mb": budget,
        "data_mb": X.nbytes / 2**20,
        "peak_mb": clock.stop() - before,
    }
    return {**case._asdict(), **found}


def told(case: Case) -> float:
    """What a dry run tells of the same fit, with the budget by default, beside the data."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, mixture(case))
        asked = ["-k", str(case.clusters), "--feature-map", case.feature_map, "--membership", "fuzzy"]
        command = [sys.executable, "-m", "powerkmeans", "fit", str(path), *asked, "--dry-run", "--json"]
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
    parser.add_argument("--fit", nargs=6, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.fit:
        rows, width, clusters, feature_map, budget, threads = given.fit
        case = Case(int(rows), int(width), int(clusters), feature_map)
        print(json.dumps(fit(case, int(budget), int(threads))))
        return
    found = [measured(case, given.budget, given.threads) for case in CASES]
    for name, value in machine().items():
        print(f"{name}: {value}")
    print_table(
        ["rows", "columns", "k", "map", "data, MB", "budget, MB", "peak beside the data, MB", "dry run, MB"],
        [
            [
                r["rows"], r["width"], r["clusters"], r["feature_map"], f"{r['data_mb']:.0f}", r["budget_mb"],
                f"{r['peak_mb']:.0f}", f"{r['told_mb']:.0f}",
            ]
            for r in found
        ],
    )  # fmt: skip
    print(f"written to {write_lines('memory', found)}")


if __name__ == "__main__":
    main()
