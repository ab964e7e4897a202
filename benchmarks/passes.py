"""One pass of the solver against one Lloyd iteration of scikit-learn's KMeans, on the same array in one run.

python -m benchmarks.passes
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from benchmarks.report import machine, print_table, write_lines
from powerkmeans.engines import NumpyEngine, NumpyOptions
from powerkmeans.engines.blas import single_threaded_blas
from powerkmeans.features.maps import IdentityMap
from powerkmeans.objective.block import block_statistics, prepare
from powerkmeans.objective.membership import make_membership
from powerkmeans.types import Parameters, Problem, Views

SHAPES = [(400_000, 216, 10), (60_000, 1190, 100)]
_LLOYD_STEPS = 30


def lloyd_seconds(X: np.ndarray, centers: np.ndarray) -> float:
    """Time of one Lloyd iteration: a fit of many iterations less a fit of one."""
    seconds = []
    for n_iter in (1, 1 + _LLOYD_STEPS):
        model = KMeans(len(centers), init=centers, n_init=1, max_iter=n_iter, tol=0, algorithm="lloyd")
        start = time.perf_counter()
        model.fit(X)
        seconds.append(time.perf_counter() - start)
        done = model.n_iter_
    return (seconds[1] - seconds[0]) / (done - 1)


def pass_seconds(engine: NumpyEngine, centers: np.ndarray, membership: str) -> float:
    """Time of one pass: distances, memberships, all sums."""
    width = centers.shape[1]
    scatter = np.array([float(width)])
    problem = Problem(make_membership(membership, 2.0), (0, width), scatter, scatter)
    parameters = Parameters(centers.astype(np.float64), np.ones(1))
    start = time.perf_counter()
    engine.fold(block_statistics, prepare(parameters, -5.0, problem, engine.dtype))
    return time.perf_counter() - start


def measure(n: int, p: int, k: int, repeats: int) -> list[dict[str, object]]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p), dtype=np.float32)
    centers = X[:k].copy()
    rows = NumpyEngine(Views(("X",), (X,), np.ones(n, dtype=np.float32)), NumpyOptions())
    engine = rows.with_features((IdentityMap(p),), keep=True)
    times: dict[str, list[float]] = {"lloyd": [], "fuzzy": [], "possibilistic": []}
    for _ in range(repeats):  # interleaved, so that a busy neighbour slows all alike
        times["lloyd"].append(lloyd_seconds(X, centers))
        with single_threaded_blas():
            for name in ("fuzzy", "possibilistic"):
                times[name].append(pass_seconds(engine, centers, name))
    shape = {"n": n, "p": p, "k": k, "dtype": "float32", "repeats": repeats}
    median = {name: float(np.median(values)) for name, values in times.items()}
    return [
        {**shape, "what": name, "milliseconds": 1e3 * value, "ratio_to_lloyd": value / median["lloyd"]}
        for name, value in median.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = [row for shape in SHAPES for row in measure(*shape, arguments.repeats)]
    for name, value in machine().items():
        print(f"{name}: {value}")
    print_table(
        ["n", "p", "k", "what", "ms", "ratio to Lloyd"],
        [
            [r["n"], r["p"], r["k"], r["what"], f"{r['milliseconds']:.0f}", f"{r['ratio_to_lloyd']:.2f}"]
            for r in rows
        ],
    )
    print(f"written to {write_lines('passes', rows)}")


if __name__ == "__main__":
    main()
