"""Size of the report, and the time and memory it takes, as the rows grow.

python -m benchmarks.report_size [--most 1000000] [--folder FOLDER]

Rows of 10 columns around 10 centres, one in a hundred far from all of them, in a file that is mapped into memory;
a possibilistic model, otherwise by default. Each report is written by a process of its own; its memory is the
largest anonymous one (the page cache is not its own). Then the widest pages: many clusters, many columns, both.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import powerkmeans
from benchmarks.report import machine, print_table, write_lines
from benchmarks.scaling import PeakClock, anonymous_megabytes
from powerkmeans.report import write_report

# rows, columns, clusters
GROWING = [(2_000, 10, 10), (10_000, 10, 10), (100_000, 10, 10), (1_000_000, 10, 10)]
WIDE = [(20_000, 10, 100), (20_000, 3000, 10), (20_000, 3000, 100)]
LIMIT_MB = 5.0


def make_rows(n_rows: int, n_columns: int, n_clusters: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    centers = 3 * rng.standard_normal((n_clusters, n_columns), dtype=np.float32)
    rows = centers[rng.integers(n_clusters, size=n_rows)]
    rows += rng.standard_normal(rows.shape, dtype=np.float32)
    far = rng.random(n_rows) < 0.01
    rows[far] += 6 * rng.standard_normal((int(far.sum()), n_columns), dtype=np.float32)
    return rows


def prepare(folder: Path, n_rows: int, n_columns: int, n_clusters: int) -> None:
    """Write the rows and a model that was fitted to some of them."""
    rows = make_rows(n_rows, n_columns, n_clusters)
    np.save(folder / "rows.npy", rows)
    model = powerkmeans.KernelPowerKMeans(
        n_clusters, feature_map="nystroem", membership="possibilistic", random_state=0
    )
    model.fit(rows[:50_000]).save(folder / "model.npz")


def write_one(folder: Path) -> dict[str, Any]:
    """Write a report and tell what it took; run in a process of its own."""
    model, rows = powerkmeans.load(folder / "model.npz"), np.load(folder / "rows.npy", mmap_mode="r")
    clock, before = PeakClock(), anonymous_megabytes()
    clock.start()
    start, begun = time.perf_counter(), time.process_time()
    page = write_report(folder / "report.html", model, rows)
    seconds, cpu = time.perf_counter() - start, time.process_time() - begun
    return {
        "size_mb": page.stat().st_size / 1e6,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "before_mb": before,
        "peak_mb": clock.stop(),
    }


def measure(case: tuple[int, int, int], folder: str | None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        for step in ("--prepare", "--write"):
            command = [sys.executable, "-m", "benchmarks.report_size", step, scratch, *map(str, case)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
    names = ("rows", "columns", "clusters")
    return dict(zip(names, case, strict=True)) | json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--folder", help="where the rows go")
    parser.add_argument("--prepare", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--write", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.prepare:
        prepare(Path(arguments.prepare[0]), *map(int, arguments.prepare[1:]))
        return
    if arguments.write:
        print(json.dumps(write_one(Path(arguments.write[0]))))
        return
    cases = [case for case in [*GROWING, *WIDE] if case[0] <= arguments.most]
    rows = [measure(case, arguments.folder) for case in cases]
    for name, value in machine().items():
        print(f"{name}: {value}")
    print_table(
        ["rows", "columns", "clusters", "page, MB", "s", "CPU s", "peak anonymous, MB", "before, MB"],
        [
            [
                f"{r['rows']:,}",
                f"{r['columns']:,}",
                r["clusters"],
                f"{r['size_mb']:.2f}",
                f"{r['seconds']:.1f}",
                f"{r['cpu_seconds']:.1f}",
                f"{r['peak_mb']:.0f}",
                f"{r['before_mb']:.0f}",
            ]
            for r in rows
        ],
    )
    print(f"written to {write_lines('report_size', rows)}")
    if any(r["size_mb"] > LIMIT_MB for r in rows):
        raise SystemExit(f"a page is larger than {LIMIT_MB:g} MB")


if __name__ == "__main__":
    main()
