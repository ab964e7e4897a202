"""Are results the same on another processor? Small fits on all that this one can pretend to be.

python -m benchmarks.processors [--fits 200]

Half of the fits are to one view and half to two, with every map and membership, in both precisions. Each processor
(``benchmarks.core_types``) fits them in a process of its own, whole processors with one thread too; partitions,
labels (a partition may be numbered otherwise) and bits are compared with the machine's own with two threads.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.core_types import Setting, find_all
from benchmarks.report import machine, print_table, write_lines
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.metrics import clustering_accuracy

ROOT = Path(__file__).parents[1]
MAPS, MEMBERSHIPS = ("nystroem", "rff", "identity"), ("fuzzy", "possibilistic")
CASES = list(product(MAPS, MEMBERSHIPS, (np.float32, np.float64), (1, 2)))  # the last: views
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


def problem(number: int) -> tuple[NDArray[np.float64], int]:
    """Overlapping clusters, of another number, size and width each time."""
    rng = np.random.default_rng(number)
    k, p = int(rng.integers(2, 8)), int(rng.integers(2, 20))
    y = rng.integers(k, size=int(rng.integers(200, 600)))
    return rng.normal(0, 3, (k, p))[y] + rng.normal(size=(len(y), p)) * rng.uniform(0.5, 2), k


def fitted(number: int) -> dict[str, Any]:
    """What one fit found: labels, the objective, and a digest of every bit of its centroids."""
    X, k = problem(number)
    feature_map, membership, dtype, n_views = CASES[number % len(CASES)]
    settings = {"feature_map": feature_map, "membership": membership, "random_state": number}
    X = X.astype(dtype)
    if n_views == 1:
        model = KernelPowerKMeans(k, **settings).fit(X)
        centers = [model.cluster_centers_]
    else:
        half = X.shape[1] // 2
        model = MultiViewPowerKMeans(k, **settings).fit([X[:, :half], X[:, half:]])
        centers = model.cluster_centers_
    bits = hashlib.sha256(b"".join(c.tobytes() for c in centers)).hexdigest()
    return {"labels": model.labels_.tolist(), "bits": bits, "objective": model.objective_}


def fit_all(n_fits: int) -> None:
    """What a child process does: all fits, as JSON lines."""
    warnings.simplefilter("ignore")
    for number in range(n_fits):
        print(json.dumps(fitted(number)))


def fits_of(setting: Setting, n_threads: int, n_fits: int) -> list[dict[str, Any]]:
    environment = {**os.environ, **setting.environment, **dict.fromkeys(THREADS, str(n_threads))}
    command = [sys.executable, "-m", "benchmarks.processors", "--child", "--fits", str(n_fits)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{setting.name} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def compared(found: list[dict[str, Any]], own: list[dict[str, Any]]) -> dict[str, Any]:
    """In how many fits partitions, labels and bits agree, and how far objectives are apart where labels do."""
    pairs = list(zip(found, own, strict=True))
    same = [a["labels"] == b["labels"] for a, b in pairs]
    share = [clustering_accuracy(b["labels"], a["labels"]) for a, b in pairs]
    apart = [abs(a["objective"] / b["objective"] - 1) for (a, b), equal in zip(pairs, same, strict=True) if equal]
    return {
        "same_partition": sum(x == 1 for x in share),
        "same_labels": sum(same),
        "same_bits": sum(a["bits"] == b["bits"] for a, b in pairs),
        "objectives_apart": max(apart),
        "other_labels_in": [number for number, equal in enumerate(same) if not equal],
        "smallest_share": min(share),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=200)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        fit_all(options.fits)
        return
    found = find_all()
    runs = [(setting, n) for setting in found.settings for n in ((2, 1) if setting.whole else (2,))]
    fits = [fits_of(setting, n_threads, options.fits) for setting, n_threads in runs]
    rows = [
        {"processor": setting.name, "threads": n_threads, "fits": options.fits, **compared(one, fits[0])}
        for (setting, n_threads), one in zip(runs, fits, strict=True)
    ]
    for name, value in machine().items():
        print(f"{name}: {value}")
    print_table(
        ["processor", "threads", "fits", "same partition", "same labels", "same bits", "objectives apart"],
        [[*list(row.values())[:6], f"{row['objectives_apart']:.0e}"] for row in rows],
    )
    for name, why in found.not_here.items():
        print(f"not run: {name} ({why})")
    print(f"written to {write_lines('processors', rows)}")


if __name__ == "__main__":
    main()
