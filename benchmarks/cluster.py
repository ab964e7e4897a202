"""The engine on Dask: what a pass costs beside its work, its throughput beside threads, and dask-ml.

python -m benchmarks.cluster [--only overhead throughput peer]

A local cluster of one and of two processes with one thread each. Overhead is a pass over next to nothing, in
10, 100 and 1000 chunks: as they are bound together by default, and with a task for each. Throughput is rows a
second of passes over features that workers hold, beside those of one machine with as many threads, taking turns.
KMeans of dask-ml (pip install dask-ml) and ours in the same space go over the same rows, which workers hold.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

from benchmarks.passes import pass_input
from benchmarks.report import machine, print_table, read_lines, write_lines
from powerkmeans import KernelPowerKMeans
from powerkmeans.compute.engine import open_engine
from powerkmeans.compute.passes import run_pass
from powerkmeans.engines import DaskOptions, NumpyOptions
from powerkmeans.features.maps.identity import IdentityMap
from powerkmeans.inputs.lazy import lazy_views
from powerkmeans.objective.block import block_statistics
from powerkmeans.sources.dask import open_dask
from powerkmeans.types import Views

CHUNKS = (10, 100, 1000)
TINY = (16, 100)  # rows of a chunk, columns
OVERHEAD_CLUSTERS = 10
LARGE = (10_000_000, 50, 20)  # rows, columns, clusters
PEER = (1_000_000, 20, 10)


@contextmanager
def cluster(n_workers: int) -> Iterator[Client]:
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as made,
        Client(made) as client,
    ):
        yield client


def lazy_engine(array: Any, options: DaskOptions) -> Any:
    """Rows held by workers as features."""
    views = lazy_views({"X": open_dask(array)}, None, None)
    return open_engine(options, views).with_features((IdentityMap(array.shape[1]),), keep=True, working=80)


def pass_seconds(engine: Any, inputs: Any, repeats: int) -> float:
    seconds = []
    for _ in range(repeats + 2):
        start = time.perf_counter()
        run_pass(engine, inputs, block_statistics)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds[2:]))


def measure_overhead(repeats: int) -> list[dict[str, Any]]:
    rows = []
    n, p = TINY
    inputs = pass_input(np.random.default_rng(0).standard_normal((OVERHEAD_CLUSTERS, p)), "fuzzy", float(p))
    with cluster(2) as client:
        for n_chunks in CHUNKS:
            array = da.zeros((n * n_chunks, p), chunks=(n, p), dtype=np.float32)
            bound = lazy_engine(array, DaskOptions(client))
            apart = lazy_engine(array, DaskOptions(client, rows_per_task=n))
            rows.append(
                {
                    "what": "overhead",
                    "chunks": n_chunks,
                    "bound_ms": 1e3 * pass_seconds(bound, inputs, repeats),
                    "apart_ms": 1e3 * pass_seconds(apart, inputs, max(3, repeats // 4)),
                }
            )
            del bound, apart
    return rows


def measure_throughput(repeats: int) -> list[dict[str, Any]]:
    n, p, k = LARGE
    X = np.random.default_rng(0).standard_normal((n, p), dtype=np.float32)
    inputs = pass_input(X[:k], "fuzzy", float(p))
    views = Views(("X",), (X,), np.ones(n, dtype=np.float32))
    rows = []
    for workers in (1, 2):
        local = open_engine(NumpyOptions(n_threads=workers, memory_budget=2**33), views)
        local = local.with_features((IdentityMap(p),), keep=True)
        with cluster(workers) as client:
            array = da.random.default_rng(0).standard_normal((n, p), chunks=(n // 100, p), dtype=np.float32)
            engine = lazy_engine(array, DaskOptions(client))
            pairs = [[pass_seconds(e, inputs, 2) for e in (local, engine)] for _ in range(repeats)]
            here, there = np.median(np.array(pairs), axis=0)
            rows.append(
                {
                    "what": "throughput",
                    "workers": workers,
                    "tasks": len(engine._groups),
                    "threads_rows_per_s": n / here,
                    "workers_rows_per_s": n / there,
                    "ratio": here / there,
                }
            )
            del engine
    return rows


def hard_cost(array: Any, centers: np.ndarray) -> float:
    """Sum of squared distances to the nearest centre."""

    def of_chunk(rows: np.ndarray) -> np.ndarray:
        squares = np.vecdot(rows, rows)[:, None] - 2 * rows @ centers.T + np.vecdot(centers, centers)
        return np.min(squares, axis=1, keepdims=True).sum(keepdims=True, dtype=np.float64).reshape(1, 1)

    parts = array.astype(np.float64).map_blocks(of_chunk, chunks=(1, 1), dtype=np.float64)
    return float(parts.sum().compute())


def measure_peer() -> list[dict[str, Any]]:
    try:
        from dask_ml.cluster import KMeans  # noqa: PLC0415 - a peer that need not be here
    except ImportError as error:
        print(f"dask-ml is left out: {error}")
        return []
    n, p, k = PEER
    rng = np.random.default_rng(0)
    centers = rng.normal(0, 2.5, (k, p))
    rows = []
    with cluster(2) as client, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chunks = [
            da.from_array(centers[rng.integers(k, size=n // 20)] + rng.standard_normal((n // 20, p)), chunks=-1)
            for _ in range(20)
        ]
        array = client.persist(da.concatenate(chunks).astype(np.float32))
        wait(array)
        for seed in range(3):
            for name, made in {
                "dask-ml": KMeans(k, random_state=seed),
                "powerkmeans": KernelPowerKMeans(k, feature_map="identity", random_state=seed, advice=False),
            }.items():
                start = time.perf_counter()
                made.fit(array)
                seconds = time.perf_counter() - start
                cost = hard_cost(array, np.asarray(made.cluster_centers_, dtype=np.float64))
                rows.append(
                    {
                        "what": "peer",
                        "method": name,
                        "seed": seed,
                        "seconds": seconds,
                        "iterations": int(made.n_iter_),
                        "cost": cost,
                    }
                )
        begin = array[:k].compute().astype(np.float64)
        hard = {"feature_map": "identity", "s_init": -np.inf, "tol": 0.0, "advice": False, "random_state": 0}
        for name, make in {
            "dask-ml": lambda most: KMeans(k, init=begin, tol=0.0, max_iter=most, random_state=0),
            "powerkmeans": lambda most: KernelPowerKMeans(k, init=begin, max_iter=most, **hard),
        }.items():
            rows.append({"what": "iteration", "method": name, "seconds": iteration_seconds(make, array)})
    return rows


def iteration_seconds(make: Callable[[int], Any], array: Any) -> float:
    """Time of a k-means step from given centres: a fit of some less a fit of few."""
    seconds, done = [], []
    for most in (2, 22):
        model = make(most)
        start = time.perf_counter()
        model.fit(array)
        seconds.append(time.perf_counter() - start)
        done.append(int(model.n_iter_))
    return (seconds[1] - seconds[0]) / max(1, done[1] - done[0])


def show(rows: list[dict[str, Any]]) -> None:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["what"], []).append(row)
    for name, some in groups.items():
        print(f"\n{name}")
        header = [key for key in some[0] if key != "what"]
        print_table(header, [[_cell(row[key]) for key in header] for row in some])


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=["overhead", "throughput", "peer"])
    parser.add_argument("--repeats", type=int, default=20)
    arguments = parser.parse_args()
    chosen = arguments.only or ["overhead", "throughput", "peer"]
    rows: list[dict[str, Any]] = []
    if "overhead" in chosen:
        rows += measure_overhead(arguments.repeats)
    if "throughput" in chosen:
        rows += measure_throughput(max(3, arguments.repeats // 4))
    if "peer" in chosen:
        rows += measure_peer()
    for name, value in machine().items():
        print(f"{name}: {value}")
    show(rows)
    measured = {row["what"] for row in rows}
    rows = [*(row for row in read_lines("cluster") if row["what"] not in measured), *rows]  # the rest stays
    print(f"written to {write_lines('cluster', rows)}")


if __name__ == "__main__":
    main()
