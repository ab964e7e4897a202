"""How long a pass takes on a cluster: a model of few numbers, what was measured, and what it says of more rows.

python -m benchmarks.cluster_model

seconds = rows / (workers * speed) * (largest share of a worker) + fixed + tasks * each + bytes / network

The numbers are those of ``python -m benchmarks.cluster``: the speed of one worker, what a pass costs with one
task, and what every further task costs. Workers send their sums and get the parameters, 8 bytes a number; sums are
added by sixteens on the way.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from benchmarks.cluster import LARGE
from benchmarks.report import print_table, read_lines
from powerkmeans.compute.cluster import FAN_IN

NETWORK = 1.25e9  # bytes a second, of a network of ten gigabits


class Model(NamedTuple):
    """What a pass costs: rows a second of a worker for one number of a row and one cluster, and tasks."""

    speed: float
    fixed: float
    each: float

    def seconds(self, n: float, p: int, k: int, workers: int, rows_per_task: float) -> float:
        tasks = math.ceil(n / rows_per_task)
        share = math.ceil(tasks / workers) * workers / tasks  # the worker with most tasks is waited for
        adding = math.ceil(tasks / FAN_IN) if tasks > FAN_IN else 0
        sums = 8.0 * k * p * (min(tasks, FAN_IN) + FAN_IN) / NETWORK
        return n / (workers * self.speed) * share + self.fixed + (tasks + adding) * self.each + sums


def fitted_model(rows: list[dict[str, Any]]) -> Model:
    overhead = {row["chunks"]: row for row in rows if row["what"] == "overhead"}
    (one,) = (row for row in rows if row["what"] == "throughput" and row["workers"] == 1)
    each = (overhead[1000]["apart_ms"] - overhead[10]["apart_ms"]) / 990e3
    fixed = overhead[10]["bound_ms"] / 1e3
    busy = LARGE[0] / one["workers_rows_per_s"] - fixed - one["tasks"] * each
    return Model(LARGE[0] / busy, fixed, each)


def main() -> None:
    rows = read_lines("cluster")
    model, (n, p, k) = fitted_model(rows), LARGE
    costs = f"{1e3 * model.fixed:.0f} ms and {1e3 * model.each:.2f} ms a task"
    print(f"a worker: {model.speed:.3g} rows/s; a pass: {costs}\n")
    checks = []
    for row in rows:
        if row["what"] == "throughput":
            found = n / row["workers_rows_per_s"]
            said = model.seconds(n, p, k, row["workers"], n / row["tasks"])
            checks.append([f"{n:.0e} rows, {row['workers']} workers", f"{found:.3f}", f"{said:.3f}"])
        if row["what"] == "overhead":
            said = model.fixed + (row["chunks"] + row["chunks"] // FAN_IN) * model.each
            checks.append([f"{row['chunks']} tasks of nothing", f"{row['apart_ms'] / 1e3:.3f}", f"{said:.3f}"])
    print_table(["a pass", "measured, s", "model, s"], checks)
    print(f"\nrows of {p} numbers in float32, k={k}, held by the workers; as many tasks a thread as are best")
    table = []
    for power in (9, 10, 11):
        for workers in (16, 128, 1024):
            sizes = [10.0**power / (each * workers) for each in (1, 2, 4, 8)]
            seconds, size = min((model.seconds(10.0**power, p, k, workers, size), size) for size in sizes)
            held = 4 * p * 10.0**power / workers / 1e9
            n_tasks = math.ceil(10.0**power / size)
            table.append([f"10^{power}", workers, f"{held:.3g} GB", n_tasks, f"{seconds:.3g} s"])
    print_table(["rows", "threads", "held by each", "tasks", "a pass"], table)


if __name__ == "__main__":
    main()
