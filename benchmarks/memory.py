"""What a fit takes in memory beside the data, and what of it ``memory_budget`` counts.

python -m benchmarks.memory [--rows 400000 1600000] [--threads 2]

Each fit runs in a process of its own; the peak is of its anonymous memory, less what was there before.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from typing import Any

import numpy as np

from benchmarks.report import machine, print_table, write_lines
from benchmarks.scaling import PeakClock, anonymous_megabytes
from powerkmeans import KernelPowerKMeans
from powerkmeans.compute.engine import kept_bytes
from powerkmeans.engines import NumpyOptions

WIDTH, CLUSTERS = 20, 10
BUDGETS_MB = (100, 2048)
MAPS = ("nystroem", "rff", "identity")


def fit(rows: int, feature_map: str, budget_mb: int, threads: int) -> dict[str, Any]:
    """One fit, in this process."""
    warnings.simplefilter("ignore")
    X = np.random.default_rng(0).standard_normal((rows, WIDTH), dtype=np.float32)
    X[: rows // 2] += 3
    KernelPowerKMeans(2, feature_map=feature_map, random_state=0).fit(X[:: rows // 100])  # libraries are loaded
    options = NumpyOptions(n_threads=threads, memory_budget=budget_mb * 2**20)
    before, clock = anonymous_megabytes(), PeakClock()
    clock.start()
    model = KernelPowerKMeans(CLUSTERS, feature_map=feature_map, engine=options, random_state=0).fit(X)
    peak = clock.stop() - before
    kept = kept_bytes(rows, model.cluster_centers_.shape[1], 1, X.itemsize) / 2**20
    counted = kept if kept <= budget_mb else 0.0
    asked = {"rows": rows, "feature_map": feature_map, "budget_mb": budget_mb, "threads": threads}
    return {**asked, "data_mb": X.nbytes / 2**20, "kept_mb": counted, "peak_mb": peak}


def measured(*asked: object) -> dict[str, Any]:
    """One fit, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.memory", "--fit", *map(str, asked)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[400_000, 1_600_000])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--fit", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.fit:
        rows, feature_map, budget, threads = given.fit
        print(json.dumps(fit(int(rows), feature_map, int(budget), int(threads))))
        return
    cases = [(n, name, budget, given.threads) for n in given.rows for name in MAPS for budget in BUDGETS_MB]
    found = [measured(*case) for case in cases]
    for name, value in machine().items():
        print(f"{name}: {value}")
    print_table(
        ["rows", "map", "data, MB", "budget, MB", "kept, MB", "peak beside the data, MB", "of it not counted, MB"],
        [
            [
                r["rows"], r["feature_map"], f"{r['data_mb']:.0f}", r["budget_mb"], f"{r['kept_mb']:.0f}",
                f"{r['peak_mb']:.0f}", f"{r['peak_mb'] - r['kept_mb']:.0f}",
            ]
            for r in found
        ],
    )  # fmt: skip
    print(f"written to {write_lines('memory', found)}")


if __name__ == "__main__":
    main()
