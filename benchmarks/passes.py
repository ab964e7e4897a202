"""One pass of the solver against the machine's floor and one Lloyd iteration of scikit-learn, in one run.

python -m benchmarks.passes [--repeats 7] [--busy]

The floor is max(flops / peak, bytes / bandwidth), both measured in the same run: a pass does 4 n p k flops and
reads n p numbers once. From raw rows it does 2 n d D flops and n D pairs of sine and cosine besides, and reads n d
numbers. Everything takes turns, so that a busy neighbour slows all alike; medians are of each one's own times.
Before each turn there is a rest: threads of BLAS and OpenMP go on spinning after their work, on the cores of the
next one. A turn is many passes or iterations in a row, as in a fit: the first after a rest is slower than others.
--busy is for a machine that others use: the first shape alone, by one thread, in times of the processor and not
of the clock; nothing is written then.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.machine import bytes_per_second, flops_per_second, now, pair_seconds, use_processor_time
from benchmarks.report import machine, print_table, write_lines
from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.passes import available_passes, run_pass
from powerkmeans.compute.rows import RowEngine
from powerkmeans.engines import NumpyOptions
from powerkmeans.features.maps.centred import CentredMap, make_centred
from powerkmeans.features.maps.fourier import make_fourier
from powerkmeans.features.maps.identity import IdentityMap
from powerkmeans.objective.block import PassInput, block_statistics, prepare
from powerkmeans.objective.membership import make_membership
from powerkmeans.types import Parameters, Problem, Views

SHAPES = [(400_000, 216, 10), (60_000, 1190, 100)]
RAW = (400_000, 64, 108, 10)
_LLOYD_STEPS = 30
_PASSES = 10
_EXPONENT = -5.0
# seconds after which nothing spins any more
_REST = 0.1


class Setting(NamedTuple):
    """One shape: what it is called, what takes turns, and how much work there is at least."""

    shape: dict[str, Any]
    runs: dict[str, Callable[[], object]]
    flops: float
    n_bytes: float
    n_pairs: float
    X: np.ndarray


def lloyd_seconds(X: np.ndarray, centers: np.ndarray) -> float:
    """Time of one Lloyd iteration: a fit of many iterations less a fit of one.

    The first fit after other work is not counted: its copy of the rows is in pages that are new to the process,
    and what that takes would be taken off the iterations.
    """
    seconds = []
    for n_iter in (1, 1, 1 + _LLOYD_STEPS):
        model = KMeans(len(centers), init=centers, n_init=1, max_iter=n_iter, tol=0, algorithm="lloyd")
        start = now()
        model.fit(X)
        seconds.append(now() - start)
        done = model.n_iter_
    return (seconds[-1] - seconds[-2]) / (done - 1)


def pass_input(centers: np.ndarray, membership: str, scatter: float) -> PassInput:
    width = centers.shape[1]
    each = np.array([scatter])
    problem = Problem(make_membership(membership, 2.0), (0, width), each, each)
    parameters = Parameters(centers.astype(np.float64), np.ones(1))
    return prepare(parameters, _EXPONENT, problem, np.dtype(np.float32))


def open_rows(X: np.ndarray, kernel: str = "auto") -> RowEngine:
    options = NumpyOptions(kernel=kernel)
    return open_engine(options, Views(("X",), (X,), np.ones(len(X), dtype=np.float32)))


def kernels() -> list[str]:
    return ["compiled", "numpy"] if available_passes("auto", np) else ["numpy"]


def stored(n: int, p: int, k: int) -> Setting:
    """Features that are stored."""
    X = np.random.default_rng(0).standard_normal((n, p), dtype=np.float32)
    runs: dict[str, Callable[[], object]] = {"Lloyd iteration": lambda: lloyd_seconds(X, X[:k].copy())}
    for name in kernels():
        engine = open_rows(X, name).with_features((IdentityMap(p),), keep=True)
        for membership in ("fuzzy", "possibilistic"):
            inputs = pass_input(X[:k], membership, float(p))
            runs[f"{name}, {membership}"] = lambda e=engine, i=inputs: run_pass(e, i, block_statistics)
    return Setting({"n": n, "p": p, "k": k}, runs, 4.0 * n * p * k, X.nbytes, 0, X)


def from_raw(n: int, d: int, n_frequencies: int, k: int) -> Setting:
    """Features that are made anew from raw rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    base = make_fourier(np.zeros(d), rng.standard_normal((d, n_frequencies)), float(np.sqrt(d)), np.float32)
    centred: CentredMap = make_centred(base, np.zeros(2 * n_frequencies), np.float32)
    inputs = pass_input(centred(X[:k], np), "fuzzy", 1.0)
    runs: dict[str, Callable[[], object]] = {}
    for name in kernels():
        mapped = open_rows(X, name).with_features((centred,), keep=False)
        runs[f"{name}, fuzzy"] = lambda e=mapped: run_pass(e, inputs, block_statistics)
    flops = 2.0 * n * d * n_frequencies + 4.0 * n * 2 * n_frequencies * k
    shape = {"n": n, "p": f"{d} -> {2 * n_frequencies}", "k": k}
    return Setting(shape, runs, flops, X.nbytes, n * n_frequencies, X)


def timed(run: Callable[[], object], times: int = 1) -> float:
    """Seconds that a run takes, the mean of so many in a row; or those that it says itself."""
    time.sleep(_REST)
    start = now()
    for _ in range(times):
        value = run()
    return value if isinstance(value, float) else (now() - start) / times


def measure(setting: Setting, repeats: int) -> list[dict[str, Any]]:
    times: dict[str, list[float]] = {name: [] for name in ["floor", *setting.runs]}
    for _ in range(repeats + 1):
        compute = setting.flops / flops_per_second() + setting.n_pairs * (pair_seconds() if setting.n_pairs else 0)
        times["floor"].append(max(compute, setting.n_bytes / bytes_per_second(setting.X)))
        for name, run in setting.runs.items():
            if name.startswith("Lloyd"):
                times[name].append(timed(run))
            else:
                with single_threaded_blas():
                    times[name].append(timed(run, _PASSES if name.startswith("compiled") else 1))
    median = {name: float(np.median(values[1:])) for name, values in times.items()}  # the first warms up
    lloyd = median.get("Lloyd iteration")
    return [
        {
            **setting.shape,
            "dtype": "float32",
            "repeats": repeats,
            "what": name,
            "milliseconds": 1e3 * value,
            "ratio_to_floor": value / median["floor"],
            "ratio_to_lloyd": None if lloyd is None else value / lloyd,
        }
        for name, value in median.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--busy", action="store_true", help="one thread, and processor time")
    arguments = parser.parse_args()
    if arguments.busy:
        use_processor_time()
    warnings.simplefilter("ignore", ConvergenceWarning)
    settings = [lambda s=s: stored(*s) for s in SHAPES] + [lambda: from_raw(*RAW)]
    settings = settings[:1] if arguments.busy else settings
    with threadpool_limits(limits=1 if arguments.busy else None):
        rows = [row for make in settings for row in measure(make(), arguments.repeats)]
    for name, value in machine().items():
        print(f"{name}: {value}")
    print_table(
        ["n", "p", "k", "what", "ms", "ratio to floor", "ratio to Lloyd"],
        [
            [
                *(r[column] for column in ("n", "p", "k", "what")),
                f"{r['milliseconds']:.1f}",
                f"{r['ratio_to_floor']:.2f}",
                "" if r["ratio_to_lloyd"] is None else f"{r['ratio_to_lloyd']:.2f}",
            ]
            for r in rows
        ],
    )
    if not arguments.busy:
        print(f"written to {write_lines('passes', rows)}")


if __name__ == "__main__":
    main()
