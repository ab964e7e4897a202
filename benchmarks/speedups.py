"""Each speed-up by itself: a fit with all of them, and with each one taken away.

python -m benchmarks.speedups [--data FOLDER] [--repeats 5]

Times are medians of interleaved fits; costs and accuracies are means over the same seeds.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.datasets import data_folder, load_views, mixture
from benchmarks.report import machine, print_table, write_lines
from powerkmeans import KernelPowerKMeans
from powerkmeans.fitting import collapse, pilot, starts
from powerkmeans.metrics import clustering_accuracy
from powerkmeans.solver.schedules import Geometric

Change = dict[str, Any]
WIDE = "digits, 1,728 features"


def _geometric(s_init: float, factor: float, _: int, *limits: float) -> Geometric:
    return Geometric(s_init, factor, 1, *limits)


# what to patch to be without it; parameters of the estimator under "parameters"
WITHOUT: dict[str, list[tuple[Any, str, Any]]] = {
    "all of them": [],
    "compiled kernel": [(None, "engine", "numpy")],
    "longer steps (1.8)": [(starts, "RELAXATION", 1.0), (None, "anneal_every", 2)],
    "waiting and hurrying": [(starts, "Unfolding", _geometric)],
    "k-means beyond |s| = 15": [(starts, "HARD_EXPONENT", -math.inf)],
    "pilot sample": [(pilot, "PILOT_ROWS", 2**62)],
    "quick subspace": [(collapse.find_collapse, "__defaults__", (collapse.FULL_STEPS,))],
}


@contextmanager
def changed(changes: list[tuple[Any, str, Any]]) -> Iterator[Change]:
    """Patch constants while inside; yield parameters for the estimator."""
    with ExitStack() as stack:
        for where, name, value in changes:
            if where is not None:
                stack.enter_context(patch.object(where, name, value))
        yield {name: value for where, name, value in changes if where is None}


def problems(folder: str | None) -> dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]]:
    """Sets by name; the real ones only if their folder is given."""
    found: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
        "digits": _digits,
        WIDE: _digits,
        "mixture, 200,000 rows": lambda: mixture(200_000, 20, 16, 0.7),
    }
    if folder is not None:
        found["handwritten, standardised"] = lambda: _standardised(folder, "handwritten")
    return found


def _digits() -> tuple[np.ndarray, np.ndarray]:
    return load_digits().data.astype(np.float32), load_digits().target


def _standardised(folder: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    views, y = load_views(data_folder(folder), name)
    wide = np.concatenate(views, axis=1)
    spread = np.std(wide, axis=0)
    return ((wide - np.mean(wide, axis=0)) / np.where(spread > 0, spread, 1)).astype(np.float32), y


def measure(name: str, X: np.ndarray, y: np.ndarray, repeats: int) -> list[dict[str, Any]]:
    seconds: dict[str, list[float]] = {what: [] for what in WITHOUT}
    results: dict[str, list[tuple[float, float, int]]] = {what: [] for what in WITHOUT}
    for seed in range(repeats):
        for what, changes in WITHOUT.items():
            with changed(changes) as parameters:
                model = KernelPowerKMeans(
                    len(np.unique(y)),
                    feature_map="orf",
                    n_components=864 if name == WIDE else 108,
                    random_state=seed,
                    **parameters,
                )
                start = time.perf_counter()
                model.fit(X)
                seconds[what].append(time.perf_counter() - start)
            n_passes = sum(restart["n_iter"] for restart in model.restarts_)
            results[what].append((model.inertia_, clustering_accuracy(y, model.labels_), n_passes))
    median = {what: float(np.median(values)) for what, values in seconds.items()}
    means = {what: np.mean(values, axis=0) for what, values in results.items()}
    whole, cost = median["all of them"], means["all of them"][0]
    return [
        {
            "data": name,
            "without": "nothing" if what == "all of them" else what,
            "seconds": median[what],
            "slower": median[what] / whole,
            "cost_ratio": float(means[what][0] / cost),
            "accuracy": float(means[what][1]),
            "iterations": float(means[what][2]),
            "repeats": repeats,
        }
        for what in WITHOUT
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of .npz data sets, for a real one besides")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    rows = []
    for name, load in problems(arguments.data).items():
        rows += measure(name, *load(), arguments.repeats)
    for name, value in machine().items():
        print(f"{name}: {value}")
    print_table(
        ["data", "without", "s", "times as long", "hard cost", "ACC", "iterations"],
        [
            [
                r["data"],
                r["without"],
                f"{r['seconds']:.2f}",
                f"{r['slower']:.2f}",
                f"{r['cost_ratio']:.4f}",
                f"{r['accuracy']:.3f}",
                f"{r['iterations']:.0f}",
            ]
            for r in rows
        ],
    )
    print(f"written to {write_lines('speedups', rows)}")


if __name__ == "__main__":
    main()
