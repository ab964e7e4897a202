"""What is measured of a method, the same way for all: time, hard cost of the labels, scores, peak memory.

python -m benchmarks.measure KIND METHOD ROWS.npy K prints the peak memory of one fit in bytes; benchmarks.peers
runs it, because a peak belongs to a process and not to a call.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from benchmarks.methods import PEERS, Answer, Method, threads
from powerkmeans.metrics import clustering_accuracy, normalized_mutual_info

_BLOCK = 20_000
_WARM_UP_ROWS = 20  # a cluster


def timed(method: Method, X: np.ndarray, k: int, seed: int) -> tuple[float, Answer]:
    """Seconds and answer of one fit, on as many threads as all others have."""
    with warnings.catch_warnings(), threadpool_limits(limits=threads()):
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        answer = method.run([X], k, seed)
        return time.perf_counter() - start, answer


class NeighbourClock:
    """How much of the cores other processes take from now on, where the system tells."""

    def __init__(self) -> None:
        self._start = self._now()

    @staticmethod
    def _now() -> tuple[float, float] | None:
        """Seconds so far by the clock, and of all cores together in other processes."""
        stat = Path("/proc/stat")
        if not stat.exists():
            return None
        user, nice, system, _idle, _wait, *interrupts = map(int, stat.read_text().split("\n", 1)[0].split()[1:9])
        busy = (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")
        return time.perf_counter(), busy - time.process_time()

    def share(self) -> float | None:
        """The share of all cores that others have taken since the clock was made."""
        now = self._now()
        if now is None or self._start is None:
            return None
        wall, others = (end - start for end, start in zip(now, self._start, strict=True))
        return round(min(1.0, max(0.0, others / (wall * (os.cpu_count() or 1)))), 3)


def hard_cost(X: np.ndarray, labels: np.ndarray) -> float:
    """Sum of squared distances to the mean of the own cluster, in double precision.

    It takes nothing from the method but its labels, so that all are measured alike.
    """
    k, blocks = int(labels.max()) + 1, range(0, len(X), _BLOCK)
    sums = np.zeros((k, X.shape[1]))
    for start in blocks:
        part = labels[start : start + _BLOCK]
        members = csr_array((np.ones(len(part)), (part, np.arange(len(part)))), shape=(k, len(part)))
        sums += members @ X[start : start + _BLOCK].astype(np.float64)
    means = sums / np.maximum(np.bincount(labels, minlength=k), 1)[:, None]
    rows = (slice(start, start + _BLOCK) for start in blocks)
    return float(sum(np.sum((X[r].astype(np.float64) - means[labels[r]]) ** 2) for r in rows))


def scored(answer: Answer, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Hard cost, accuracy and normalised mutual information of an answer."""
    labels = np.asarray(answer.labels, dtype=np.int64)
    return {
        "cost": hard_cost(X, labels),
        "ACC": clustering_accuracy(y, labels),
        "NMI": normalized_mutual_info(y, labels),
        "clusters": len(np.unique(labels)),
        "iterations": None if answer.iterations is None else int(answer.iterations),
    }


def peak_memory(kind: str, name: str, X: np.ndarray, k: int) -> float:
    """Megabytes that one fit in a process of its own takes on top of the rows."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.npy"
        np.save(rows, X)
        command = [sys.executable, "-m", "benchmarks.measure", kind, name, str(rows), str(k)]
        done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} failed in a process of its own:\n{done.stderr}")
    return int(done.stdout) / 1e6


def high_water() -> int:
    """The most memory this process has held, in bytes.

    Linux's VmHWM where there is one: ru_maxrss of a new process starts at the peak of its parent.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return 1024 * int(line.split()[1])
    import resource  # noqa: PLC0415 - not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def fresh_high_water() -> int:
    """The memory this process holds now, in bytes, and from now on ``high_water`` counts from there."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    return high_water()


def risen_since(before: int) -> int:
    """How far the peak is above what was held before, in bytes; zero where pages, counted in batches, say less."""
    return max(0, high_water() - before)


def peak_of_fit(method: Method, X: np.ndarray, k: int) -> int:
    """Bytes that a fit adds to the peak, after a small one that loads all code and starts all threads."""
    timed(method, X[: _WARM_UP_ROWS * k], k, 0)
    before = fresh_high_water()
    timed(method, X, k, 0)
    return risen_since(before)


def main() -> None:
    kind, name, rows, k = sys.argv[1:]
    method = PEERS[kind][name]
    if not method.available():
        raise SystemExit(f"{name} needs: pip install {method.install}")
    print(peak_of_fit(method, np.load(rows), int(k)))


if __name__ == "__main__":
    main()
