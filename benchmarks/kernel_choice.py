"""The same pass in C++ and in Numba: what decided how the kernel is written.

python -m benchmarks.kernel_choice [--repeats 7]      (needs numba)

Both work on tiles of rows in cache, take distances for groups of centroids held in registers, and accumulate the
moments of a group at a time; fuzzy, float32, one view. The Numba form leaves vector registers to the compiler, as
Numba code does. Reported besides the time of a pass: what importing, compiling and installing cost.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import n_threads
from benchmarks.passes import SHAPES, open_rows, pass_input
from benchmarks.report import machine, print_table, write_lines
from powerkmeans.compute.blas import single_threaded_blas
from powerkmeans.compute.native import build
from powerkmeans.compute.passes import run_pass
from powerkmeans.features.maps.maps import IdentityMap
from powerkmeans.objective.block import block_statistics

try:
    from numba import njit
except ImportError:
    raise SystemExit("This comparison needs numba: pip install numba") from None

TILE = 48
FAST = {"reassoc", "contract", "nsz", "arcp", "nnan", "ninf"}
compiled = njit(fastmath=FAST, error_model="numpy", nogil=True, cache=True)


@compiled
def dots(X, at, C, out):
    """4 centroids x 3 rows at a time; TILE is a multiple of 3, and the centroids are padded to a multiple of 4."""
    k, p = C.shape
    for r in range(0, TILE, 3):
        for j in range(0, k, 4):
            a00 = a01 = a02 = a10 = a11 = a12 = a20 = a21 = a22 = a30 = a31 = a32 = X.dtype.type(0)
            for v in range(p):
                x0, x1, x2 = X[at + r, v], X[at + r + 1, v], X[at + r + 2, v]
                c0, c1, c2, c3 = C[j, v], C[j + 1, v], C[j + 2, v], C[j + 3, v]
                a00, a01, a02 = a00 + c0 * x0, a01 + c0 * x1, a02 + c0 * x2
                a10, a11, a12 = a10 + c1 * x0, a11 + c1 * x1, a12 + c1 * x2
                a20, a21, a22 = a20 + c2 * x0, a21 + c2 * x1, a22 + c2 * x2
                a30, a31, a32 = a30 + c3 * x0, a31 + c3 * x1, a32 + c3 * x2
            out[j, r], out[j, r + 1], out[j, r + 2] = a00, a01, a02
            out[j + 1, r], out[j + 1, r + 1], out[j + 1, r + 2] = a10, a11, a12
            out[j + 2, r], out[j + 2, r + 1], out[j + 2, r + 2] = a20, a21, a22
            out[j + 3, r], out[j + 3, r + 1], out[j + 3, r + 2] = a30, a31, a32


@compiled
def weigh(D, norms, center_norms, k, s, pull):
    """Distances to pulls; the loss of the tile."""
    zero, one = D.dtype.type(0), D.dtype.type(1)
    smallest, total = np.full(TILE, np.inf, D.dtype), np.zeros(TILE, D.dtype)
    for j in range(k):
        for r in range(TILE):
            d = max(D[j, r] + norms[r] + center_norms[j], zero)
            D[j, r] = d
            smallest[r] = min(smallest[r], d)
    for j in range(k):
        for r in range(TILE):
            ratio = smallest[r] / D[j, r] if D[j, r] > smallest[r] else one
            power = math.exp(-s * math.log(ratio))
            total[r] += power
            pull[j, r] = power * ratio
    loss = 0.0
    for r in range(TILE):
        factor = math.exp(math.log(total[r] / k) / s)
        loss += smallest[r] * factor
        total[r] = factor / total[r]
    for j in range(k):
        for r in range(TILE):
            pull[j, r] *= total[r]
    return loss


@compiled
def moments(X, at, pull, k, sums):
    """8 rows at a time into one centroid's sums."""
    p = X.shape[1]
    for r in range(0, TILE, 8):
        for j in range(k):
            g0, g1, g2, g3 = pull[j, r], pull[j, r + 1], pull[j, r + 2], pull[j, r + 3]
            g4, g5, g6, g7 = pull[j, r + 4], pull[j, r + 5], pull[j, r + 6], pull[j, r + 7]
            for v in range(p):
                x = g0 * X[at + r, v] + g1 * X[at + r + 1, v] + g2 * X[at + r + 2, v] + g3 * X[at + r + 3, v]
                x += g4 * X[at + r + 4, v] + g5 * X[at + r + 5, v] + g6 * X[at + r + 6, v] + g7 * X[at + r + 7, v]
                sums[j, v] += x


@compiled
def run(X, norms, C, center_norms, k, s, first, last):
    """Whole tiles of the rows from ``first`` to ``last``."""
    out, pull = np.empty((C.shape[0], TILE), X.dtype), np.empty((C.shape[0], TILE), X.dtype)
    sums, mass, loss = np.zeros((k, X.shape[1]), X.dtype), np.zeros(k), 0.0
    for at in range(first, last - TILE + 1, TILE):
        dots(X, at, C, out)
        loss += weigh(out, norms[at : at + TILE], center_norms, k, s, pull)
        for j in range(k):
            mass[j] += np.sum(pull[j])
        moments(X, at, pull, k, sums)
    return sums, mass, loss


def numba_pass(X: np.ndarray, norms: np.ndarray, centers: np.ndarray, s: float, pool: Any) -> Any:
    k = len(centers)
    C = np.zeros((-(-k // 4) * 4, X.shape[1]), X.dtype)
    C[:k] = -2 * centers
    center_norms = np.vecdot(centers, centers)
    step = 20 * TILE * 8
    starts = range(0, len(X), step)
    jobs = [
        pool.submit(run, X, norms, C, center_norms, k, np.float32(s), a, min(a + step, len(X))) for a in starts
    ]
    parts = [job.result() for job in jobs]
    return [sum(np.asarray(part[i], np.float64) for part in parts) for i in range(3)]


def measure(n: int, p: int, k: int, repeats: int) -> list[dict[str, Any]]:
    n = n // TILE * TILE
    X = np.random.default_rng(0).standard_normal((n, p), dtype=np.float32)
    engine = open_rows(X).with_features((IdentityMap(p),), keep=True)
    inputs, norms = pass_input(X[:k], "fuzzy", float(p)), np.vecdot(X, X)
    times: dict[str, list[float]] = {"C++": [], "Numba": []}
    with single_threaded_blas(), ThreadPoolExecutor(n_threads()) as pool:
        for _ in range(repeats + 1):
            start = time.perf_counter()
            sums = run_pass(engine, inputs, block_statistics)
            middle = time.perf_counter()
            moment, _, loss = numba_pass(X, norms, X[:k].copy(), inputs.s, pool)
            times["C++"].append(middle - start)
            times["Numba"].append(time.perf_counter() - middle)
    assert np.allclose(moment, sums.moment, rtol=1e-3, atol=1e-4 * np.max(np.abs(moment)))
    assert np.isclose(loss, sums.loss, rtol=1e-4)
    median = {name: float(np.median(values[1:])) * 1e3 for name, values in times.items()}
    return [{"what": f"pass, n={n}, p={p}, k={k}, ms", **median}]


def start_costs() -> list[dict[str, Any]]:
    """What comes before the first pass, and what lies on disk."""
    first, cached = (_numba_first_call(folder) for folder in _same_folder_twice())
    libraries = [path.stat().st_size for path in build.FOLDER.glob("*.so")]
    opened = _elapsed(
        "from powerkmeans.compute.native.library import find_target; find_target()",
        "import powerkmeans.compute.passes",
    )
    return [
        {
            "what": "import or open the library, s",
            "C++": opened,
            "Numba": _elapsed("import numba", "import numpy"),
        },
        {"what": "first call, nothing compiled yet, s", "C++": 0.0, "Numba": first},
        {"what": "first call, compiled before, s", "C++": 0.0, "Numba": cached},
        {"what": "compile at installation, s", "C++": _build_seconds(), "Numba": 0.0},
        {"what": "installed size, MB", "C++": sum(libraries) / 2**20, "Numba": _installed("numba", "llvmlite")},
    ]


def _same_folder_twice() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        yield folder
        yield folder


def _numba_first_call(folder: str) -> float:
    code = (
        "import time, numpy as np, benchmarks.kernel_choice as b; X = np.ones((480, 8), np.float32); "
        "t = time.perf_counter(); b.run(X, X[:, 0], X[:4], X[:4, 0], 4, np.float32(-2), 0, 480); "
        "print(time.perf_counter() - t)"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return float(done.stdout)


def _elapsed(code: str, before: str) -> float:
    timed = f"{before}; import time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"
    runs = [
        subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True) for _ in range(5)
    ]
    return float(np.median([float(done.stdout) for done in runs]))


def _build_seconds() -> float:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        reason = build.compile_libraries(Path(folder))
        return float("nan") if reason else time.perf_counter() - start


def _installed(*packages: str) -> float:
    files = [file for package in packages for file in importlib.metadata.files(package) or []]
    return (
        sum(Path(str(file.locate())).stat().st_size for file in files if Path(str(file.locate())).exists()) / 2**20
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    rows = [row for shape in SHAPES for row in measure(*shape, arguments.repeats)] + start_costs()
    for name, value in machine().items():
        print(f"{name}: {value}")
    print_table(["", "C++", "Numba"], [[r["what"], f"{r['C++']:.3g}", f"{r['Numba']:.3g}"] for r in rows])
    print(f"written to {write_lines('kernel_choice', rows)}")


if __name__ == "__main__":
    main()
