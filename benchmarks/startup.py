"""How long it takes to begin: imports and the command's help, each in a process of its own.

python -m benchmarks.startup [--repeats 15]

Everything takes turns, so that a busy neighbour slows all alike; figures are medians, and ratios medians of the
ratios within a turn. Python's own start is part of every figure.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.report import machine, print_table, write_lines

SOURCE = Path(__file__).parents[1] / "src"
BASE = "import sklearn"
RUNS = {
    "Python alone": ["-c", "pass"],
    "import sklearn": ["-c", "import sklearn"],
    "import powerkmeans": ["-c", "import powerkmeans"],
    "import both": ["-c", "import sklearn, powerkmeans"],
    "both estimators, imported": ["-c", "from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans"],
    "sklearn's KMeans, imported": ["-c", "from sklearn.cluster import KMeans"],
    "powerkmeans --help": ["-m", "powerkmeans", "--help"],
    "powerkmeans fit --help": ["-m", "powerkmeans", "fit", "--help"],
}


class Times(NamedTuple):
    """Of one process from start to end: by the clock, and of the processor, which busy neighbours do not slow."""

    clock: float
    processor: float


def timed(arguments: list[str]) -> Times:
    path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    before, start = os.times(), time.perf_counter()
    subprocess.run([sys.executable, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL)
    clock, after = time.perf_counter() - start, os.times()
    used = (after.children_user - before.children_user) + (after.children_system - before.children_system)
    return Times(clock, used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    turns = [{name: timed(run) for name, run in RUNS.items()} for _ in range(repeats + 1)][
        1:
    ]  # the first warms up
    rows = [
        {
            "what": name,
            "repeats": repeats,
            "seconds": float(np.median([turn[name].clock for turn in turns])),
            "processor_seconds": float(np.median([turn[name].processor for turn in turns])),
            "ratio_to_sklearn": float(np.median([turn[name].clock / turn[BASE].clock for turn in turns])),
            "more_than_sklearn": float(np.median([turn[name].clock - turn[BASE].clock for turn in turns])),
        }
        for name in RUNS
    ]
    for name, value in machine().items():
        print(f"{name}: {value}")
    print_table(
        ["what", "seconds", "of the processor", f"more than {BASE}", "ratio to it"],
        [
            [
                row["what"],
                *(f"{row[key]:.3f}" for key in ("seconds", "processor_seconds")),
                f"{row['more_than_sklearn']:+.3f}",
                f"{row['ratio_to_sklearn']:.2f}",
            ]
            for row in rows
        ],
    )
    print(f"written to {write_lines('startup', rows)}")


if __name__ == "__main__":
    main()
