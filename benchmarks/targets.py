"""The compiled targets that this processor runs, beside each other: passes, answers and whole fits.

python -m benchmarks.targets [--threads 2] [--repeats 9]

Targets take turns, so that a busy neighbour slows all alike; medians are of each one's own times. What is taken by
default is ``chosen``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.passes import from_raw, stored, timed
from benchmarks.report import machine, print_table, write_lines
from powerkmeans import KernelPowerKMeans
from powerkmeans.compute import passes
from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.compute.native.library import TARGETS, find_target, open_library

SHAPES = [(400_000, 216, 10), (60_000, 1190, 100), (20_000, 1190, 10), (20_000, 60, 5), (1_000_000, 16, 10)]
MIXTURE = (1_000_000, 10, 8)

Runs = dict[str, Callable[[], object]]


def passes_of(shape: tuple[int, int, int]) -> Runs:
    n, p, k = shape
    runs = {name: run for name, run in stored(n, p, k).runs.items() if name.startswith("compiled")}
    return {f"pass, n={n:,}, p={p}, k={k}, {name.partition(', ')[2]}": _held(run) for name, run in runs.items()}


def raw_pass() -> Runs:
    run = from_raw(400_000, 64, 108, 10).runs["compiled, fuzzy"]
    return {"pass from raw rows, n=400,000, d=64, 108 frequencies, k=10, fuzzy": _held(run)}


def fits() -> Runs:
    """Whole default fits, and answers of the fitted model."""
    n, d, k = MIXTURE
    rng = np.random.default_rng(0)
    centers = 3 * rng.standard_normal((k, d), dtype=np.float32)
    X = centers[rng.integers(k, size=n)] + rng.standard_normal((n, d), dtype=np.float32)
    model = KernelPowerKMeans(k, random_state=0).fit(X)
    shape = f"n={n:,}, d={d}, k={k}"
    return {
        f"default fit, {shape}": lambda: KernelPowerKMeans(k, random_state=0).fit(X),
        f"fit in the columns, {shape}": lambda: KernelPowerKMeans(k, feature_map="identity", random_state=0).fit(
            X
        ),
        f"predict, {shape}": lambda: model.predict(X),
    }


def _held(run: Callable[[], object]) -> Callable[[], object]:
    def held() -> object:
        with single_threaded_blas():
            return run()

    return held


def measure(make: Callable[[], Runs], targets: list[str], repeats: int) -> list[dict[str, Any]]:
    """Median seconds of each run by each target; what is opened by a target stays with it."""
    made: dict[str, Runs] = {}
    for target in targets:
        with _taking(target):
            made[target] = make()
    times: dict[tuple[str, str], list[float]] = {(t, name): [] for t in targets for name in made[t]}
    for _ in range(repeats + 1):
        for (target, name), taken in times.items():
            with _taking(target):
                taken.append(timed(made[target][name]))
    return [
        {"what": name, **{target: float(np.median(times[target, name][1:])) for target in targets}}
        for name in made[targets[0]]
    ]


def _taking(target: str) -> Any:
    return patch.object(passes, "find_target", lambda: target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=9)
    asked = parser.parse_args()
    targets = [target for target in TARGETS if open_library(target) is not None]
    with threadpool_limits(limits=asked.threads):
        found = [row for shape in SHAPES for row in measure(lambda s=shape: passes_of(s), targets, asked.repeats)]
        found += measure(raw_pass, targets, asked.repeats) + measure(fits, targets, max(1, asked.repeats // 3))
    for name, value in machine().items():
        print(f"{name}: {value}")
    print(f"chosen: {find_target()}")
    print_table(
        ["what", *(f"{target}, ms" for target in targets), *(f"/ {target}" for target in targets[1:])],
        [
            [
                row["what"],
                *(f"{1e3 * row[target]:.1f}" for target in targets),
                *(f"{row[targets[0]] / row[target]:.2f}" for target in targets[1:]),
            ]
            for row in found
        ],
    )
    rows = [{**row, "threads": asked.threads, "repeats": asked.repeats, "chosen": find_target()} for row in found]
    print(f"written to {write_lines('targets', rows)}")


if __name__ == "__main__":
    main()
