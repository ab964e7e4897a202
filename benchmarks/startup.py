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

import numpy as np

from benchmarks.report import machine, print_table, write_lines

SOURCE = Path(__file__).parents[1] / "src"
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


def seconds(arguments: list[str]) -> float:
    """Time of one process from start to end."""
    path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    turns = [{name: seconds(run) for name, run in RUNS.items()} for _ in range(repeats + 1)][
        1:
    ]  # the first warms up
    rows = [
        {
            "what": name,
            "repeats": repeats,
            "seconds": float(np.median([turn[name] for turn in turns])),
            "ratio_to_sklearn": float(np.median([turn[name] / turn["import sklearn"] for turn in turns])),
            "seconds_more_than_sklearn": float(np.median([turn[name] - turn["import sklearn"] for turn in turns])),
        }
        for name in RUNS
    ]
    for name, value in machine().items():
        print(f"{name}: {value}")
    print_table(
        ["what", "seconds", "more than import sklearn", "ratio to it"],
        [
            [
                r["what"],
                f"{r['seconds']:.3f}",
                f"{r['seconds_more_than_sklearn']:+.3f}",
                f"{r['ratio_to_sklearn']:.2f}",
            ]
            for r in rows
        ],
    )
    print(f"written to {write_lines('startup', rows)}")


if __name__ == "__main__":
    main()
