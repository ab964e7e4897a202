"""A table far larger than the memory of a cluster: the memory of its processes over a whole fit, as a curve.

python -m benchmarks.cluster_memory [--gigabytes 50] [--picture docs/images/cluster_memory.png]

Rows around ten centres are made by Dask chunk by chunk each time that they are read, and never stored. Two workers
of one thread with a limit of three gigabytes each fit Fourier features with max_iter=3; the memory of the workers,
and of this process with the scheduler, is looked at every half second.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from benchmarks.report import machine, write_lines
from powerkmeans import KernelPowerKMeans

WIDTH, CLUSTERS, CHUNK_ROWS = 100, 10, 250_000


def made_rows(block: np.ndarray, block_id: tuple[int, ...] = (0, 0)) -> np.ndarray:
    """The rows of one chunk, the same each time."""
    rng = np.random.Generator(np.random.SFC64(block_id[0]))
    centers = 3 * np.random.default_rng(0).random((CLUSTERS, WIDTH), dtype=np.float32)
    rows = rng.random((len(block), WIDTH), dtype=np.float32)
    rows += centers[rng.integers(CLUSTERS, size=len(block))]
    return rows


def resident(pid: int) -> float:
    """Megabytes of a process that are backed by no file."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    return float("nan")


class Curve(threading.Thread):
    """The memory of some processes, every half second."""

    def __init__(self, pids: dict[str, int]) -> None:
        super().__init__(daemon=True)
        self.pids, self.points, self.begun = pids, list[dict[str, float]](), time.perf_counter()
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(0.5):
            at = {"seconds": round(time.perf_counter() - self.begun, 1)}
            self.points.append(at | {name: round(resident(pid), 1) for name, pid in self.pids.items()})

    def stop(self) -> list[dict[str, float]]:
        self._ended.set()
        self.join()
        return self.points


def measure(gigabytes: float) -> list[dict[str, Any]]:
    n_rows = int(gigabytes * 1e9 / (4 * WIDTH)) // CHUNK_ROWS * CHUNK_ROWS
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="3GB", dashboard_address=":0") as cluster,
        Client(cluster) as client,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        pids = {f"worker {number}": pid for number, pid in enumerate(client.run(os.getpid).values())}
        curve = Curve({**pids, "client and scheduler": os.getpid()})
        shape = {"chunks": (CHUNK_ROWS, WIDTH), "dtype": np.float32}
        rows = da.zeros((n_rows, WIDTH), **shape).map_blocks(made_rows, dtype=np.float32)
        model = KernelPowerKMeans(CLUSTERS, feature_map="rff", n_components=64, max_iter=3, random_state=0)
        curve.start()
        start = time.perf_counter()
        model.fit(rows)
        seconds = time.perf_counter() - start
        sizes = np.bincount(model.labels_[:CHUNK_ROWS].compute(), minlength=CLUSTERS)
        points = curve.stop()
    told = {"what": "fit", "gigabytes": 4 * WIDTH * n_rows / 1e9, "rows": n_rows, "seconds": seconds}
    found = {
        "n_iter": int(model.n_iter_),
        "inertia": model.inertia_,
        "smallest_share": float(min(sizes) / CHUNK_ROWS),
    }
    return [{**told, **found}, *({"what": "memory", **point} for point in points)]


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    import matplotlib as mpl  # noqa: PLC0415 - a picture is optional

    mpl.use("agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    points = [row for row in rows if row["what"] == "memory"]
    _, ax = plt.subplots(figsize=(7, 3), layout="constrained")
    for name in (key for key in points[0] if key not in ("what", "seconds")):
        ax.plot([p["seconds"] for p in points], [p[name] for p in points], label=name, linewidth=1.2)
    ax.set(xlabel="seconds", ylabel="memory, MB", ylim=(0, 3000))
    ax.axhline(3000, color="0.6", linewidth=0.8, linestyle=":")
    ax.set_title(f"A fit to {rows[0]['gigabytes']:.0f} GB that nobody stores", loc="left", fontsize=10)
    ax.legend(frameon=False, ncols=3, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    plt.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=50.0)
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    rows = measure(arguments.gigabytes)
    for name, value in machine().items():
        print(f"{name}: {value}")
    fit, points = rows[0], rows[1:]
    print({key: value for key, value in fit.items() if key != "what"})
    for name in (key for key in points[0] if key not in ("what", "seconds")):
        quarters = np.array_split(np.array([point[name] for point in points]), 4)
        print(
            f"{name}: at most in each quarter of the time, MB: {', '.join(f'{np.max(q):.0f}' for q in quarters)}"
        )
    print(f"written to {write_lines('cluster_memory', rows)}")
    if arguments.picture:
        draw(rows, arguments.picture)
        print(f"drawn to {arguments.picture}")


if __name__ == "__main__":
    main()
